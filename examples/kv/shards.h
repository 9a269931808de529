// Shards: the shards of this node. It opens their stores when they come, and closes them when they
// go.
//
// A request is served under its shard's lock, between Acquired and Releasing. So a handoff waits
// for requests in flight, and no new one begins. Thread-safe.
#pragma once

#include <baton/listener.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shard_store.h"

namespace kv {

class Shards final : public baton::Listener {
 public:
  Shards(std::string folder, std::string group, std::uint32_t count);

  /// Runs `serve` on the shard's store. False: it did not run, because the shard is not served with
  /// this term at the moment.
  bool Serve(baton::ShardId shard, baton::Term term, const std::function<void(ShardStore&)>& serve);

  void Prepare(baton::ShardId shard) override;
  void Acquired(baton::ShardId shard, baton::Term term) override;
  void Releasing(baton::ShardId shard, baton::Term term) override;
  void Lost(baton::ShardId shard, baton::Term term, baton::Reason reason) override;

 private:
  struct Shard {
    std::mutex mutex;  // guards what follows
    std::unique_ptr<ShardStore> store;
    baton::Term serving;  // 0: not served
  };
  ShardStore& Open(baton::ShardId id, Shard& shard);

  const std::string folder_;
  const std::string group_;
  std::vector<Shard> shards_;
};

}  // namespace kv
