// Completions: a completion queue of gRPC and the thread that takes from it. Only for this folder
// (it includes gRPC).
//
// gRPC's callback threads serve all callers of a process in turn: thousands of calls at once would
// hold up etcd's answers, and cost a node its lease. So the calls and streams to etcd complete on
// this thread. They also begin and write on this thread. Reason: if one thread writes to a
// connection while another thread reads from it, gRPC (1.51) passes the rest of both to an executor
// of its own. That executor also handles the messages of callers, and may be busy with them for
// many seconds.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <thread>

namespace baton::etcd {

/// A step of a call or stream: its start, a read, a write or its end.
class Step {
 public:
  /// The step's tag in a queue, for the function of gRPC that starts the step. Any thread.
  /// Completed sees everything that this thread did before it called tag.
  void* tag();
  /// The step is over. `ok`: as grpc::CompletionQueue::Next says of this kind of step. Called on
  /// the queue's thread. Completed may destroy the step.
  virtual void Completed(bool ok) = 0;

 protected:
  ~Step() = default;
};

/// Completes a step soon, on a queue's thread.
class Wake {
 public:
  /// Any thread, one at a time. REQUIRES (not checked): the step of the last Set has completed.
  void Set(grpc::CompletionQueue& queue, Step& step) {
    alarm_.Set(&queue, gpr_inf_past(GPR_CLOCK_MONOTONIC), step.tag());
  }

 private:
  grpc::Alarm alarm_;
};

/// While an object of this class exists, its thread counts as inside a callback of a transport. So
/// GrpcCore::Close can abort on this thread, instead of waiting for its own callback for ever.
class CallbackScope {
 public:
  CallbackScope() { ++depth_; }
  ~CallbackScope() { --depth_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  static bool Inside() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

/// Calls Step::Completed of each step, one after another, in the order in which the steps complete.
/// A CallbackScope exists during these calls.
class Completions {
 public:
  /// Starts the thread. Throws std::system_error if the host lacks threads.
  Completions();
  /// Ends the thread. REQUIRES (not checked): no step is outstanding, and none is started from now
  /// on. REQUIRES (checked): not called inside Step::Completed of this queue.
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// For calls whose tags are those of steps. Any thread.
  grpc::CompletionQueue& queue() { return queue_; }

 private:
  void Run();

  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace baton::etcd
