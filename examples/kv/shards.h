// Shards: the shards of this node. It opens their stores when they come, and closes them when they
// go.
//
// A request is served under its shard's lock, between Acquired and Releasing. So a handoff waits
// for requests in flight, and no new one begins. Thread-safe.
#pragma once

#include <baton/listener.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shard_store.h"

namespace kv {

class Shards final : public baton::Listener {
 public:
  struct Options {
    std::string folder;
    std::string group;
    std::uint32_t count = 0;
    /// Opening a store takes this much longer, as if its data had to be loaded. Shards load side by
    /// side.
    std::chrono::milliseconds load_time{0};
  };
  explicit Shards(Options options);
  ~Shards() override;

  /// Begins to load the shards that this node stands by for, and to say which of them are ready:
  /// give it Node::SetStandbyReady. Call it once, when the node has started.
  void BeginStandbys(std::function<void(baton::ShardId, bool ready)> say_ready);

  /// Runs `serve` on the shard's store. False: it did not run, because the shard is not served with
  /// this term at the moment.
  bool Serve(baton::ShardId shard, baton::Term term, const std::function<void(ShardStore&)>& serve);

  void Standby(baton::ShardId shard) override;
  void StandbyEnded(baton::ShardId shard) override;
  void Prepare(baton::ShardId shard) override;
  void Acquired(baton::ShardId shard, baton::Term term) override;
  void Releasing(baton::ShardId shard, baton::Term term) override;
  void Lost(baton::ShardId shard, baton::Term term, baton::Reason reason) override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Shard {
    std::mutex mutex;  // guards what follows
    std::unique_ptr<ShardStore> store;
    Time loaded_at = Time::max();  // when the load that has begun is over
    bool standby = false;
    baton::Term serving;  // 0: not served
  };
  ShardStore& Open(baton::ShardId id, Shard& shard);
  void Load(baton::ShardId id, Shard& shard);
  Time BeginLoad(Shard& shard);
  void Drop(Shard& shard);
  void LoadStandbys();
  void LoadStandby(baton::ShardId id);

  const Options options_;
  std::vector<Shard> shards_;
  std::function<void(baton::ShardId, bool ready)> say_ready_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::pair<Time, baton::ShardId>> loading_;  // the standbys to open, and when
  bool ending_ = false;
  std::thread loader_;
};

}  // namespace kv
