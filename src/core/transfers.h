// Transfers: gives shards to the targets of their moves, in batches.
//
// Leaderships offers a shard when the application has released it, had nothing to release, or
// failed to release it in time. This node leads the shard until it sends the transfer. From then on
// it does not lead the shard until the transfer's outcome is definite. If the outcome stays
// unknown, the transfer is given up: an abandon deletes the shard's move. After that no late copy
// of the transfer can be applied, because each copy compares the move.
//
// At most kTransferBatchesInFlight (1) batches of transfers are in flight. A batch has at most
// kTransfersAtOnce shards, and at most as many as fit into one transaction (MaxTransfers in
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
  /// Whether the shard's move is live (View::LiveMove), is prepared, and ends the leadership
  /// `held`.
  static bool StillGiven(const Context& context, ShardId shard, const HeldShard& held);

  /// Lets the shard go with the next batch that has room. REQUIRES: this node holds the shard until
  /// the shard is sent or withdrawn; otherwise Submit throws std::out_of_range.
  void Offer(Context& context, ShardId shard);
  /// Takes an offer back. Returns whether there was one.
  bool Withdraw(ShardId shard) { return offered_.erase(shard) > 0; }

  /// Sends the offered shards, in the order of their numbers, if the session is live, the config
  /// fits, and another batch may be in flight. The shards that don't fit into the batch wait for a
  /// later call. If no batch is in flight, and targets still prepare other shards of this node,
  /// Submit sends nothing yet. It stops waiting for these targets kGatherPrepared after the first
  /// offer.
  ///
  /// Returns offered shards that can't be transferred. If there are any, Submit sends nothing more:
  /// the caller withdraws each of them, and calls Submit again. If StillGiven is false for a
  /// returned shard, the caller leads it again. Otherwise the shard was not released, and the
  /// group's lock delay forbids its transfer, so the caller resigns it.
  std::vector<ShardId> Submit(Context& context, HeldShards& held);
  /// Gives up transfers of unknown outcome (PendingWrites::Unknown), by abandons, if the session is
  /// live. The transfer of a shard is given up kGiveUpTransferAfter after it was sent. If
  /// StillGiven is false for the shard, the transfer is given up at once, but not before
  /// HeldShard::give_not_before. After a refused abandon, kGiveUpTransferAfter begins again. Sends
  /// at most kMaxAbandons abandons a call.
  void GiveUp(Context& context, HeldShards& held);

  /// A write of Leaderships has a definite outcome. Ignores writes that are no transfers.
  void Answered(OperationId operation) { in_flight_.erase(operation); }
  /// Abandons have a definite outcome, and `held` says which were done. If each shard of a batch of
  /// transfers was abandoned or lost, the batch can't be applied any more, and is not sent again.
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
