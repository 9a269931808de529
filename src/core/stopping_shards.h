// StoppingShards: the shards whose leadership on this node has ended, and whose `lost` has not
// returned. A `releasing` that never returns holds up the `lost` behind it, so its shard stays
// here, too.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "base/clock.h"
#include "core/context.h"

namespace baton::core {

class StoppingShards {
 public:
  struct Stopping {
    std::size_t callbacks = 0;  ///< how many `lost` of the shard have not returned
    TimePoint since{};          ///< when the first of these began
  };

  /// Call it for each `lost` that begins. REQUIRES: operations come in order.
  void Begin(ShardId shard, OperationId operation, TimePoint now);
  /// A callback returned. False: it is not the `lost` of such a shard.
  bool Returned(OperationId operation);

  bool Has(ShardId shard) const { return shards_.contains(shard); }
  const std::map<ShardId, Stopping>& shards() const { return shards_; }

 private:
  std::map<OperationId, ShardId> shard_of_;
  std::map<ShardId, Stopping> shards_;
};

}  // namespace baton::core
