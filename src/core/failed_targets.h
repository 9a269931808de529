// FailedTargets: remembers moves that failed, and says when the balancer may plan a move of such a
// shard again. A move fails if its target does not prepare the shard, or if the shard's leader then
// does not let go of the shard in time.
//
// The assignment does not know why a move failed, and would choose the same move again and again.
// Therefore:
//
//  - If a shard must go (MustGo) and its target failed, the shard goes to another node. That is the
//    node with the least load for its weight, of those that have not failed. Once all nodes have
//    failed, the shard pauses, and then all of them count as untried again. The pause is 1 s at
//    first, and doubles each time, up to 1 min. If the leader does not let go of such a shard, no
//    failure is noted, because another target would not help.
//  - If a shard need not go, balance does not move it for a pause that grows in the same way, and
//    at least for the group's cooldown. Meanwhile balance may choose other shards.
//  - A `rebalance apply` tries each shard once, even shards whose moves failed before the operator
//    ordered the apply. It ends once it has tried all.
//
// A failure counts until the shard's term is over. If a shard need not go any more, the next Avoid
// forgets the targets that failed while the shard had to go.
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

/// Whether the placement rules forbid the shard to its leader, the node that its record names. Then
/// the balancer moves the shard away, as from a draining node. False if the record names no leader,
/// or if nothing is known of that node. REQUIRES: the shard exists.
bool Misplaced(const View& view, ShardId shard);
/// Whether the shard must leave its leader soon: the shard is Misplaced, or the leader is draining.
/// False in the same cases as Misplaced. REQUIRES: the shard exists.
bool MustGo(const View& view, ShardId shard);

class FailedTargets {
 public:
  /// The move failed. Returns whether this call changed anything. The call changes nothing in two
  /// cases:
  ///  - The last Note of the shard had the same revision of the move.
  ///  - The move is prepared, and the shard must go.
  bool Note(const Context& context, const MoveFact& move);
  /// No move of the shard may be planned before this time. A past time, or TimePoint::min(): a move
  /// may be planned now. Max: no move of the shard may be planned while the present `rebalance
  /// apply` is in force.
  TimePoint RestsUntil(const View& view, ShardId shard) const;
  /// Chooses another target for each urgent move whose target has failed. If all possible targets
  /// have failed, takes the move out of `moves`, and begins a pause of the move's shard. Returns
  /// when the first of these pauses ends; max: this call began no pause. Also forgets failures that
  /// don't count any more. REQUIRES: `moves` were planned from `assignment`, and `assignment` was
  /// read from the present view.
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
