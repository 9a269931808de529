// Completions: a completion queue of gRPC, and a thread that takes completed steps from the queue.
// Only for this folder (it includes gRPC).
//
// The calls and streams to etcd begin, write and complete on this thread, not on gRPC's own
// threads. Callers of this process can keep gRPC's threads busy for many seconds. If etcd's answers
// waited for those threads, a node could lose its lease (docs/decisions/26).
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <thread>

namespace baton::etcd {

/// A step of a call or stream: the start, a read, a write, the end, or a Wake.
class Step {
 public:
  /// The tag of this step, for the gRPC function that starts the step. Any thread. Completed sees
  /// everything that the calling thread did before tag().
  void* tag();
  /// The step is over. `ok`: as grpc::CompletionQueue::Next says of this kind of step. Runs on the
  /// queue's thread. May destroy the step.
  virtual void Completed(bool ok) = 0;

 protected:
  ~Step() = default;
};

/// Completes a step soon, on the thread of a queue.
class Wake {
 public:
  /// Any thread, but no two calls at once. REQUIRES (not checked): the step of the last Set has
  /// completed.
  void Set(grpc::CompletionQueue& queue, Step& step) {
    alarm_.Set(&queue, gpr_inf_past(GPR_CLOCK_MONOTONIC), step.tag());
  }

 private:
  grpc::Alarm alarm_;
};

/// While a CallbackScope exists, the thread that made it counts as inside a callback of a
/// transport. On such a thread, GrpcCore::Close aborts; otherwise it would wait for its own
/// callback for ever.
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

/// Calls Step::Completed of the steps, one after another, in the order in which they complete. A
/// CallbackScope exists during each call.
class Completions {
 public:
  /// Starts the thread. Throws std::system_error if the host lacks threads.
  Completions();
  /// Ends the thread. REQUIRES (not checked): no step is outstanding, and none is started from now
  /// on. REQUIRES (checked): not called inside Step::Completed of this queue.
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// For calls and streams whose tags come from Step::tag. Any thread.
  grpc::CompletionQueue& queue() { return queue_; }

 private:
  void Run();

  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace baton::etcd
