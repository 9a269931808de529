// CallbackTicker: keeps gRPC's callback threads from sleeping at the same time.
//
// gRPC 1.51 runs callbacks on a few threads of its own (two on two cores). As far as known from its
// sources, one that finds nothing to do for a second sleeps for 100 ms; where all do so at once, an
// answer that comes meanwhile waits. Seen here: 1,000 shards elected in 15 ms or in 100 ms, by
// chance; with the ticker the median of five went from 90 to 28 ms, and one of five still took 100
// ms, so this is not the only cause. A call every 250 ms on a channel that leads nowhere fails at
// once without any network, and leaves one thread awake.
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
