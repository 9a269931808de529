// Resignations: sends the writes by which this node resigns shards, in batches. A resigned shard's
// record says that nobody leads it. At most kResignBatchesInFlight batches are in flight.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "core/context.h"
#include "core/held_shard.h"
#include "core/transfers.h"

namespace baton::core {

class Resignations {
 public:
  /// How many shards may be resigned now.
  std::size_t Room() const;
  /// Resigns the shards. Leads() turns false for each of them before the write with its resignation
  /// is sent. Takes back offers to `transfers`, and forgets a running `acquired`. REQUIRES: this
  /// node leads each shard (HeldShard::MayLead), and there are at most Room() of them.
  void Submit(Context& context, HeldShards& held, Transfers& transfers,
              const std::vector<ShardId>& shards, Reason reason);

  /// The application has not released the shard in time, so a lock delay forbids its transfer.
  /// SubmitUnreleased resigns the shard, unless Withdraw comes first.
  void AddUnreleased(ShardId shard) { unreleased_.insert(shard); }
  /// Takes AddUnreleased back. Returns whether the shard was to be resigned.
  bool Withdraw(ShardId shard) { return unreleased_.erase(shard) > 0; }
  /// Resigns as many of these shards as there is room for, with the reason kCallbackTimeout.
  void SubmitUnreleased(Context& context, HeldShards& held, Transfers& transfers);

  /// A write of Leaderships is answered. Ignores writes that are no resignations.
  void Answered(OperationId operation) { in_flight_.erase(operation); }
  /// The session is lost: forgets everything.
  void Clear() { *this = {}; }

 private:
  std::set<OperationId> in_flight_;
  std::set<ShardId> unreleased_;
};

}  // namespace baton::core
