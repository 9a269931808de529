// StoppingShards: the shards whose leadership on this node has ended, and whose `lost` has not
// returned. While a shard's `releasing` does not return, its `lost` can't begin, so the shard stays
// here.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <map>
#include <vector>

#include "base/clock.h"
#include "core/context.h"

namespace baton::core {

class StoppingShards {
 public:
  struct Lost {
    OperationId operation = 0;
    TimePoint began{};
  };
  /// A shard's `lost` callbacks that have not returned, in the order of Begin. Never empty.
  using OfShard = std::vector<Lost>;

  /// A `lost` is sent to the application, with this operation. REQUIRES (not checked): `operation`
  /// is greater than in the last call.
  void Begin(ShardId shard, OperationId operation, TimePoint now);
  /// A callback returned. Returns whether it was a `lost` that had not returned before.
  bool Returned(OperationId operation);

  bool Has(ShardId shard) const { return shards_.contains(shard); }
  const std::map<ShardId, OfShard>& shards() const { return shards_; }

 private:
  std::map<OperationId, ShardId> shard_of_;
  std::map<ShardId, OfShard> shards_;
};

}  // namespace baton::core
