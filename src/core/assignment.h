// The assignment: which member should lead which shard. Assign gives each vacancy to a member.
// PlanMoves plans moves that balance the shards that are led.
//
// Pure, deterministic functions of their input. The order of the members in the input does not
// matter. Nodes, `batonctl plan` and the tests call the same functions.
//
// Candidates are the members with a weight above 0 that don't drain. If all members with a weight
// above 0 drain, they are the candidates: they get the vacancies, and nothing moves. A member with
// weight 0 gets nothing, and planned moves take its shards away. These moves are urgent only if the
// member drains or must not lead the shard.
//
// Shards that only some members should lead form pools (pools.h). The candidates of a pool are
// among the members that the pool wants. The shards of a pool are spread evenly over its
// candidates, whatever other shards the candidates lead. The shards without a pool are assigned
// last. Their part counts the shards that the pools give to each member, so that the whole becomes
// even.
//
// A vacancy with a ready standby goes to this standby, and counts as led by it in all of the above.
// So after a death some members may hold more than their targets. Planned moves mend that.
//
// The assignment is self-consistent: if some of its claims have been carried out, a new computation
// yields the remaining claims unchanged. A claim of a vacancy without a ready standby never makes
// an additional move necessary.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/facts.h"

namespace baton::core {

/// An index into AssignmentInput::members, or kNobody.
using MemberIndex = std::uint32_t;
inline constexpr MemberIndex kNobody = std::numeric_limits<MemberIndex>::max();

struct AssignmentMember {
  NodeId id;
  std::uint32_t weight = 1;
  bool draining = false;  ///< by its own state or by an operator's policy
  // Only Assign and PlanMoves set the next two, for even_assignment.h. REQUIRES (not checked): the
  // callers of Assign and PlanMoves leave the defaults.
  std::uint32_t elsewhere = 0;  ///< how many shards the pools give it, besides the input's shards
  bool forbidden = false;       ///< the input's shards must leave the member at once
  friend bool operator==(const AssignmentMember&, const AssignmentMember&) = default;
};

/// Which members may get the shards of one pool, by the placement rules and the live members.
struct AssignmentPool {
  enum class Place : std::uint8_t {
    kForbidden,  ///< the rules don't let the member begin to lead these shards
    /// The rules let the member lead these shards, but it gets none of them: the rules prefer other
    /// members, or the member drains or has weight 0.
    kAllowed,
    kWanted,  ///< the shards are spread over the members with this place
  };
  std::vector<Place> members;  ///< by member index
  friend bool operator==(const AssignmentPool&, const AssignmentPool&) = default;
};

/// One shard as the view shows it.
struct AssignmentShard {
  /// The live member that leads the shard, or for which the shard is kept. kNobody: the shard is a
  /// vacancy, or waits.
  MemberIndex leader = kNobody;
  /// For a vacancy: the live member that the record names as the leader, in an earlier session that
  /// is dead. Targets and loads decide how many vacancies each member gets. Up to this number, the
  /// member gets the vacancies that prefer it, lowest shard numbers first.
  MemberIndex prefers = kNobody;
  /// For a vacancy: the live member that resigned the shard for `callback_timeout`. Overrides
  /// `prefers`. First the members get the vacancies that prefer them. Then as few of the other
  /// vacancies as possible go to the members that they avoid.
  MemberIndex avoids = kNobody;
  /// For a vacancy: the shard's first ready standby, which gets the shard whatever its target is.
  /// kNobody: no standby is ready. Overrides `prefers`; never the same as `avoids`.
  MemberIndex standby = kNobody;
  /// For a shard that is led: the target of its live move. kNobody: there is no live move, or its
  /// target is not among the members.
  MemberIndex moving_to = kNobody;
  /// Nobody leads the shard, and no member of the input may claim it yet. The shard is no vacancy,
  /// but the targets count it, so that some member keeps room for it.
  bool waits = false;
  /// 0: any member may lead the shard. Otherwise its pool is AssignmentInput::pools[pool - 1].
  std::uint32_t pool = 0;
  bool vacant() const { return leader == kNobody && !waits; }
  friend bool operator==(const AssignmentShard&, const AssignmentShard&) = default;
};

/// REQUIRES (checked as far as Assign or PlanMoves needs it): members have distinct ids; each
/// member index is below members.size() or is kNobody; each pool has a place for each member; each
/// shard's pool exists.
struct AssignmentInput {
  std::vector<AssignmentMember> members;
  /// In the order of their numbers. PlannedClaim and PlannedMove name a shard by its index here.
  std::vector<AssignmentShard> shards;
  std::vector<AssignmentPool> pools = {};
};

struct PlannedClaim {
  ShardId shard;
  MemberIndex to = kNobody;
  friend bool operator==(const PlannedClaim&, const PlannedClaim&) = default;
};

struct Assignment {
  /// By member index: how many shards the member should hold; 0 for a member that is no candidate.
  /// In a pool without candidates, the target of each member is the number of shards that it holds.
  std::vector<std::uint32_t> target;
  /// By member index: how many shards count as led by the member. Leaves out shards that move away
  /// from it, and includes shards that move to it. A vacancy counts as led by its ready standby.
  std::vector<std::uint32_t> held;
  /// Each vacancy once, in the order of the shards. Leaves out vacancies that have neither a ready
  /// standby nor a candidate.
  std::vector<PlannedClaim> claims;
};

/// Computes the whole assignment: the targets, and at most one claimer for each vacancy. Without
/// pools: O(shards + vacancies log vacancies + members log members).
Assignment Assign(const AssignmentInput& input);

struct PlannedMove {
  ShardId shard;
  MemberIndex from = kNobody;
  MemberIndex to = kNobody;
  Reason reason = Reason::kRebalance;  ///< kDrain if `from` is draining
  bool urgent = false;                 ///< `from` is draining, or must not lead the shard
  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

/// Plans the fewest moves that bring every member to its target, once the claims of Assign are
/// carried out. Does so for each pool, and then for the shards without a pool. A member gives away
/// as many shards as it holds above its target. Plans no moves in a pool that has no candidates, or
/// whose candidates all drain. Leaves out shards with a live move (`moving_to`), and shards with
/// `movable[s] == false`. An empty `movable` counts as true for each shard.
///
/// Returns at most `limit` moves, urgent ones first. Among equally urgent moves, the pools come one
/// after another, and then the shards without a pool. In a pool, the members that give shards away
/// take turns. There may be a move of a vacancy with a ready standby, because the vacancy counts as
/// led by that standby. The caller leaves this move out, or says that the vacancy is not movable.
///
/// REQUIRES (checked): `movable` is empty or as long as input.shards.
std::vector<PlannedMove> PlanMoves(const AssignmentInput& input, const std::vector<bool>& movable,
                                   std::size_t limit);

}  // namespace baton::core
