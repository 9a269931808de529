// Transfers: gives shards to the targets of their moves, in batches.
//
// Leaderships offers a shard when the application has released it, had nothing to release, or
// failed to release it in time. This node leads the shard until it sends the transfer. From then on
// it does not lead the shard until the transfer's outcome is definite. A transfer whose outcome
// stays unknown is given up: an abandon deletes the shard's move. Then no late copy of the transfer
// can be applied, because it compares the move.
//
// At most kTransferBatchesInFlight transfers are in flight, with at most kTransfersAtOnce shards
// each.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <set>
#include <vector>

#include "core/context.h"
#include "core/held_shard.h"

namespace baton::core {

class Transfers {
 public:
  /// Whether the shard's move is live and prepared, and ends this leadership.
  static bool StillGiven(const Context& context, ShardId shard, const HeldShard& held);

  /// The shard is to go with the next transfer. REQUIRES: it is held.
  void Offer(Context& context, ShardId shard);
  /// Takes an offer back. Returns whether there was one.
  bool Withdraw(ShardId shard) { return offered_.erase(shard) > 0; }

  /// Sends the offered shards if the session is live, the config fits, and another transfer may be
  /// in flight. If no transfer is in flight and more shards of this node are being prepared, it
  /// first waits for these, until kGatherPrepared after the first offer.
  ///
  /// Returns shards that can't be transferred; if there are any, it sends nothing more. The caller
  /// withdraws each of them, and calls Submit again. The caller leads a shard again if StillGiven
  /// is false for it. It resigns the others, because they were not released, and a lock delay
  /// forbids their transfer.
  std::vector<ShardId> Submit(Context& context, HeldShards& held);
  /// Gives up transfers of unknown outcome (PendingWrites::Unknown), by abandons, if the session is
  /// live. A transfer of a shard is given up kGiveUpTransferAfter after it was sent, or as soon as
  /// StillGiven is false for the shard.
  void GiveUp(Context& context, HeldShards& held);

  /// A write of Leaderships is answered. Ignores writes that are no transfers.
  void Answered(OperationId operation) { in_flight_.erase(operation); }
  /// Abandons were answered. If each shard of a transfer was abandoned or lost, the transfer can't
  /// be applied any more, and is not sent again.
  void DropDecided(Context& context, const HeldShards& held);
  /// The session is lost: drops the transfers in flight. Offers stay until Withdraw. A late copy of
  /// a transfer does no harm: its guards are false, or it gives the shard to a live session.
  void Clear(Context& context);

 private:
  bool MorePrepare(const Context& context) const;
  std::vector<ShardId> Gather(const Context& context, const HeldShards& held,
                              TransferBatch& batch) const;

  std::set<ShardId> offered_;
  std::set<OperationId> in_flight_;
  TimePoint gather_until_{};  ///< until then the first transfer waits for more shards
};

}  // namespace baton::core
