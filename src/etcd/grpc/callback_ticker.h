// CallbackTicker keeps one of gRPC's callback threads awake. Each etcd transport has a ticker. It
// helps the gRPC servers in this process; calls to etcd don't need it.
//
// gRPC 1.51 runs the callbacks of its servers on a few threads of its own (two on two cores). A
// thread that finds nothing to do for a second sleeps for 100 ms. While all threads sleep, new
// calls wait, and so do the messages of streams. So the ticker makes a call every 250 ms, on a
// channel without an endpoint. The call fails at once, without any network, and its callback keeps
// a thread awake.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace baton::etcd {

class CallbackTicker {
 public:
  /// Starts a thread that makes the calls. Throws std::system_error if the host lacks threads.
  CallbackTicker();
  /// Ends the thread, after the call in flight has failed. REQUIRES (not checked): not called
  /// inside a callback of gRPC; otherwise the destructor may wait for ever.
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
