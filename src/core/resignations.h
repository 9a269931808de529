// Resignations: records that this node rewrites to "nobody leads", in batches.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "core/context.h"
#include "core/handovers.h"
#include "core/held_shard.h"

namespace baton::core {

class Resignations {
 public:
  /// How many shards may be resigned now.
  std::size_t Room() const;
  /// Leads() turns false before the writes are sent. Withdraws the shards' handovers. REQUIRES:
  /// they may lead; at most Room().
  void Send(Context& context, HeldShards& held, Handovers& handovers,
            const std::vector<ShardId>& shards, Reason reason);

  /// The application has not released the shard in time, so a lock delay forbids its transfer.
  /// SendUnreleased resigns it rather than lead it again, because the application may have stopped
  /// half of it.
  void AddUnreleased(ShardId shard) { unreleased_.insert(shard); }
  /// Whether it was to be resigned.
  bool Withdraw(ShardId shard) { return unreleased_.erase(shard) > 0; }
  void SendUnreleased(Context& context, HeldShards& held, Handovers& handovers);

  void Answered(OperationId operation) { in_flight_.erase(operation); }
  void Clear() { *this = {}; }

 private:
  std::set<OperationId> in_flight_;
  std::set<ShardId> unreleased_;
};

}  // namespace baton::core
