// Transfers: gives shards to the targets of their moves, in batches.
//
// Leaderships offers a shard when the application has released it or had nothing to release, or
// when `releasing` failed or timed out. The node leads an offered shard until it sends the
// transfer. From then on, the node does not lead the shard until the transfer's outcome is
// definite. If the outcome stays unknown, the node gives the transfer up: an abandon deletes the
// shard's move. After that, no late copy of the transfer can be applied, because each copy compares
// the move.
//
// At most kTransferBatchesInFlight (1) batches of transfers are in flight. A batch has at most
// kTransfersAtOnce shards, and no more than fit into one transaction (MaxTransfers in
// base/writes.h). The constants are in core/options.h.
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
  /// Whether the shard has a prepared, live move (View::LiveMove) that ends the leadership `held`.
  static bool StillGiven(const Context& context, ShardId shard, const HeldShard& held);

  /// Puts the shard into the next batch that has room. REQUIRES: until the shard is sent or
  /// withdrawn, this node holds it; otherwise Submit throws std::out_of_range.
  void Offer(Context& context, ShardId shard);
  /// Takes an offer back. Returns whether there was one.
  bool Withdraw(ShardId shard) { return offered_.erase(shard) > 0; }

  /// Sends offered shards, the lowest numbers first. Sends nothing while the session is not live,
  /// the config does not fit, or kTransferBatchesInFlight batches are in flight. If no batch is in
  /// flight, first waits while targets still prepare other shards of this node. This wait ends
  /// kGatherPrepared after the first offer. Shards that don't fit into a batch wait for a later
  /// call.
  ///
  /// Returns offered shards that can't be transferred. If there are any, nothing more is sent: the
  /// caller withdraws these shards, and calls Submit again. If StillGiven is false for such a
  /// shard, the caller leads the shard again. Otherwise the caller resigns the shard: the
  /// application did not release it, and the group has a lock delay.
  std::vector<ShardId> Submit(Context& context, HeldShards& held);
  /// Sends abandons for shards whose transfers have an unknown outcome (PendingWrites::Unknown), if
  /// the session is live. A shard's abandon is sent kGiveUpTransferAfter after its transfer was
  /// sent, or after its last abandon was refused. If StillGiven is false for the shard, the abandon
  /// is sent at once, but not before HeldShard::give_not_before. One call sends at most
  /// kMaxAbandons (base/writes.h).
  void GiveUp(Context& context, HeldShards& held);

  /// A write of Leaderships has a definite outcome. Ignored if the write is no batch of transfers.
  void Answered(OperationId operation) { in_flight_.erase(operation); }
  /// Abandons have a definite outcome, and `held` shows which were done. Drops each batch of which
  /// every shard was abandoned or lost. Such a batch can't be applied and is not sent again.
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
