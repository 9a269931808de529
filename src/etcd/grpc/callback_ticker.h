// CallbackTicker keeps gRPC's callback threads from all sleeping at the same time. Each etcd
// transport has one. Only servers in this process need it; calls to etcd don't.
//
// gRPC 1.51 runs the callbacks of its servers on a few threads of its own (two on two cores).
// According to its sources, a thread that finds nothing to do for a second sleeps for 100 ms. While
// all threads sleep, a new call has to wait, and so does the next message of a stream of routes.
// Every 250 ms the ticker makes a call on a channel without an endpoint. The call fails at once,
// without any network, and its callback keeps one thread awake.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace baton::etcd {

class CallbackTicker {
 public:
  /// Starts a thread that makes the calls. Throws std::system_error if the host lacks threads.
  CallbackTicker();
  /// Ends the thread. Waits until the call in flight has failed. REQUIRES (not checked): not called
  /// inside a callback of gRPC, because the wait might then last for ever.
  ~CallbackTicker();
  CallbackTicker(const CallbackTicker&) = delete;
  CallbackTicker& operator=(const CallbackTicker&) = delete;

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;  // mutex_
  std::thread thread_;
};

}  // namespace baton::etcd
