// Handovers: transfers of shards to the targets of their moves, in batches.
//
// Leaderships offers a shard once it has nothing to release any more. The shard is led until the
// transfer that takes it is sent. From then on the node does not lead it until the transfer's
// outcome is definite. A transfer of unknown outcome is given up after a while: an abandon deletes
// the move that it names, so that no copy of it can be applied any more.
//
// One transfer is in flight at a time; its size is bounded by kTransfersAtOnce.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <set>
#include <vector>

#include "core/context.h"
#include "core/held_shard.h"

namespace baton::core {

class Handovers {
 public:
  /// Whether the shard's move is prepared and ends this leadership.
  static bool StillGiven(const Context& context, ShardId shard, const HeldShard& held);

  /// The shard goes with the next transfer.
  void Offer(Context& context, ShardId shard);
  /// Takes an offer back. Returns whether there was one.
  bool Withdraw(ShardId shard) { return offered_.erase(shard) > 0; }

  /// Sends the offered shards. If it finds some whose moves are gone, it sends nothing and returns
  /// them: the caller leads these again, withdraws them, and calls Send again.
  std::vector<ShardId> Send(Context& context, HeldShards& held);
  /// Gives transfers of unknown outcome up.
  void GiveUp(Context& context, HeldShards& held);

  /// A write of Leaderships is answered.
  void Answered(OperationId operation) { in_flight_.erase(operation); }
  /// Abandons are answered: a transfer whose every shard was abandoned or lost is not sent again,
  /// because it can't be applied.
  void DropDecided(Context& context, const HeldShards& held);
  /// The session is lost. Its writes in flight do no harm: their guards are false, or they give the
  /// shards to a live session.
  void Clear(Context& context);

 private:
  bool MorePrepare(const Context& context) const;
  std::vector<ShardId> Gather(const Context& context, const HeldShards& held,
                              TransferBatch& batch) const;

  std::set<ShardId> offered_;
  std::set<OperationId> in_flight_;
  TimePoint gather_until_{};  ///< the first transfer of a wave waits for more shards, until then
};

}  // namespace baton::core
