// FailedTargets: the shards whose moves came to nothing because the target did not prepare them, or
// the leader did not let go in time, and when the balancer may plan a move of such a shard again.
//
// A target may be unable to prepare one shard, for example because its `releasing` of that shard
// still hangs. Or the leader's `releasing` hangs, and that node allows more time for it than the
// balancer. The assignment does not know that, and would choose the same move again and again.
//
//  - A shard that must go (MustGo) is sent to another node: of those that have not failed, the one
//    with the least load for its weight. Once all have failed, all count as untried again after a
//    pause. The pause is 1 s at first, and each time twice as long, up to 1 min. A leader that does
//    not let go changes nothing here: another target would not help.
//  - Balance leaves the shard alone for the group's cooldown, but at least for a pause that grows
//    in the same way. So it chooses other shards meanwhile.
//  - A `rebalance apply` tries each shard once, and ends once it has tried all. What failed before
//    it was ordered is tried, too.
//
// They count until the shard's term is over; those of a shard that must go, until it need not go.
//
// Pure and single-threaded: owned by the balancer.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/assignment.h"
#include "core/assignment_of_view.h"
#include "core/context.h"

namespace baton::core {

/// Whether the placement rules don't let the shard's leader lead it, so that it is moved like a
/// shard of a draining node.
bool Misplaced(const View& view, ShardId shard);
/// Whether the shard is misplaced, or its leader drains: it must go, and soon.
bool MustGo(const View& view, ShardId shard);

class FailedTargets {
 public:
  /// The target declared the move void, or did not prepare it in time, or the leader did not let go
  /// of it in time once it was prepared. Returns whether this is news: the same move may come again
  /// if its deletion was refused. A prepared move is no news if the shard must go.
  bool Note(const Context& context, const MoveFact& move);
  /// No move of the shard may be planned before this time. TimePoint::min(): there is no such time.
  /// Max: none is planned as long as the `rebalance apply` that is in force stays in force.
  TimePoint RestsUntil(const View& view, ShardId shard) const;
  /// Chooses another target for each urgent move whose target has failed. If all targets have
  /// failed, takes the move out of `moves`, and the shard rests. Returns the first end of a rest
  /// that this call began; max: it began none. Forgets the shards whose terms are over.
  TimePoint Avoid(const Context& context, const AssignmentOfView& assignment,
                  std::vector<PlannedMove>& moves);
  /// The session is lost: forgets everything.
  void Clear() { shards_.clear(); }

 private:
  struct Pause {
    TimePoint until = TimePoint::min();
    Duration length{};  ///< of the last pause

    void Begin(TimePoint now, Duration least);
  };
  struct Failed {
    Term ends;               ///< the term in which the moves failed
    std::set<NodeId> nodes;  ///< if the shard must go: who failed since the last pause
    Pause all_failed;        ///< if the shard must go
    Pause balance;           ///< otherwise
    Revision order;          ///< of the `rebalance apply` in force then; zero: there was none
    Revision move;           ///< the last move that failed
  };

  void ForgetOver(const View& view);

  std::map<ShardId, Failed> shards_;
};

}  // namespace baton::core
