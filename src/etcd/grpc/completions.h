// Completions: a completion queue of gRPC and the thread that takes from it. Only for this folder
// (it includes gRPC).
//
// gRPC's callback threads serve a process's callers in turn: thousands of calls at once would hold
// up etcd's answers, and cost a node its lease. So etcd's calls and streams complete here. They
// also begin and write here: if one thread writes to a connection while another reads from it, gRPC
// (1.51) leaves the rest of both to an executor that it shares with callers, and that may be busy
// for many seconds with what these sent.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <thread>

namespace baton::etcd {

/// A step of a call or stream: its start, a read, a write or its end.
class Step {
 public:
  /// The step's tag in a queue, for the call that starts it. Any thread; what this thread did
  /// before is seen by Completed.
  void* tag();
  /// The step is over. `ok`: as grpc::CompletionQueue::Next says of this kind of step. Called on
  /// the queue's thread. May destroy the step.
  virtual void Completed(bool ok) = 0;

 protected:
  ~Step() = default;
};

/// Completes a step soon, on a queue's thread.
class Wake {
 public:
  /// REQUIRES: the step of the Set before has completed. Any thread, one at a time.
  void Set(grpc::CompletionQueue& queue, Step& step) {
    alarm_.Set(&queue, gpr_inf_past(GPR_CLOCK_MONOTONIC), step.tag());
  }

 private:
  grpc::Alarm alarm_;
};

/// Marks that this thread runs a callback of the transport, so that a close inside one aborts
/// instead of deadlocking.
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

/// Reports steps one after another, in the order in which they complete. Inside Step::Completed a
/// CallbackScope exists.
class Completions {
 public:
  /// Starts the thread.
  Completions();
  /// Ends the thread. REQUIRES: no step is outstanding, and none is started from now on. REQUIRES
  /// (checked): not called inside Step::Completed.
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
