// CallbackTicker: keeps gRPC's callback threads from sleeping at the same time.
//
// gRPC 1.51 runs callbacks on a few threads of its own (two on two cores). One that finds nothing
// to do for a second sleeps for 100 ms; where all do so at once, an answer that comes meanwhile
// waits: after an idle second, every tenth answer was up to 100 ms late here (bench: 1,000 shards
// elected in 15 ms or in 100 ms). A call every 250 ms on a channel that leads nowhere fails at once
// without any network, and leaves one thread awake at any time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace baton::etcd {

class CallbackTicker {
 public:
  CallbackTicker();
  /// REQUIRES: not inside a callback of gRPC.
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
