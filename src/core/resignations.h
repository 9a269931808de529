// Resignations: sends the writes by which this node resigns shards, in batches. A resigned shard's
// record says that nobody leads the shard. At most kResignBatchesInFlight batches are in flight,
// with at most kMaxResigns shards each. The owner handles the outcome of each resignation.
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
  /// How many shards may be resigned now: kMaxResigns for each batch that may still be sent.
  std::size_t Room() const;
  /// Resigns the shards. Leads() turns false for each shard before the write that resigns the shard
  /// is sent. `reason` goes into the records. Withdraws the shards from `transfers`, and takes
  /// AddUnreleased of them back. Forgets which `acquired` runs for them. REQUIRES (not checked):
  /// this node leads each shard (HeldShard::MayLead), and there are at most Room() shards.
  void Submit(Context& context, HeldShards& held, Transfers& transfers,
              const std::vector<ShardId>& shards, Reason reason);

  /// The application has not released the shard: `releasing` failed or timed out, or an `acquired`
  /// that timed out still runs. So a lock delay forbids the shard's transfer. SubmitUnreleased
  /// resigns the shard if Withdraw does not come first. REQUIRES (not checked): this node leads the
  /// shard until then.
  void AddUnreleased(ShardId shard) { unreleased_.insert(shard); }
  /// Takes AddUnreleased back. Returns whether the shard waited for SubmitUnreleased.
  bool Withdraw(ShardId shard) { return unreleased_.erase(shard) > 0; }
  /// Resigns up to Room() of the shards of AddUnreleased, with the reason kCallbackTimeout. The
  /// others wait for a later call.
  void SubmitUnreleased(Context& context, HeldShards& held, Transfers& transfers);

  /// A write of Leaderships has a definite outcome. Ignores writes that are no resignations.
  void Answered(OperationId operation) { in_flight_.erase(operation); }
  /// The session is lost: forgets everything.
  void Clear() { *this = {}; }

 private:
  std::set<OperationId> in_flight_;
  std::set<ShardId> unreleased_;
};

}  // namespace baton::core
