// FailedTargets: remembers moves that came to nothing, and says when the balancer may plan a move
// of such a shard again. A move comes to nothing if its target does not prepare it, or if the
// shard's leader does not let go in time after that.
//
// A target may be unable to prepare one shard, for example because its `releasing` of that shard
// still hangs. Or the leader's `releasing` hangs, and the leader's options allow more time for it
// than the balancer's. The assignment does not know such causes, and would choose the same move
// again and again. Therefore:
//
//  - A shard that must go (MustGo) is sent to another node. It is the node with the least load for
//    its weight, of those that have not failed. Once all have failed, all count as untried again
//    after a pause. The pause is 1 s at first, and each time twice as long, up to 1 min. If the
//    leader does not let go, nothing changes here: another target would not help.
//  - Moves for balance leave any other such shard alone for the group's cooldown, but at least for
//    a pause that grows in the same way. Meanwhile balance chooses other shards.
//  - A `rebalance apply` tries each shard once, and ends once it has tried all. It also tries the
//    shards whose moves failed before it was ordered.
//
// A failure counts until the shard's term is over. Failures of a shard that must go are forgotten
// earlier, at the first Avoid at which the shard need not go any more.
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

/// Whether the placement rules forbid the shard to the node that its record names as the leader.
/// Then the shard is moved like a shard of a draining node. False if the record names no leader, or
/// if nothing is known of that node. REQUIRES: the shard exists.
bool Misplaced(const View& view, ShardId shard);
/// Whether the shard must go, and soon: it is misplaced, or the node that its record names as the
/// leader is draining. False as for Misplaced. REQUIRES: the shard exists.
bool MustGo(const View& view, ShardId shard);

class FailedTargets {
 public:
  /// The move came to nothing. Either its target declared it void, or did not prepare it in time,
  /// or the leader did not let go of the shard in time once the move was prepared. Returns whether
  /// this call changed anything. It changes nothing if this revision of the move was the last one
  /// noted for the shard: the same move comes again if its deletion was refused. It also changes
  /// nothing if the move is prepared and the shard must go.
  bool Note(const Context& context, const MoveFact& move);
  /// No move of the shard may be planned before this time; a past time has no effect.
  /// TimePoint::min(): there is no such time. Max: no move of it is planned while the present
  /// `rebalance apply` is in force.
  TimePoint RestsUntil(const View& view, ShardId shard) const;
  /// Chooses another target for each urgent move whose target has failed. If all possible targets
  /// have failed, takes the move out of `moves`, and begins a pause of its shard. Returns the time
  /// at which the first such pause ends; max: this call began no pause. Also forgets failures that
  /// don't count any more. REQUIRES: `moves` were planned from `assignment`, and this from the
  /// present view.
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
