// The assignment: which member should lead which shard. Assign gives each vacancy to a member
// (succession). PlanMoves balances the shards that are led.
//
// Pure, deterministic functions of their input: no clock, no randomness, no floating point. The
// order of the members in the input does not matter (they are sorted by id inside). Nodes,
// `batonctl plan` and the tests call the very same functions.
//
// Candidates are the members with a positive weight that don't drain. If all members with a
// positive weight drain, these are the candidates: they get the vacancies, and nothing moves. A
// member with weight 0 gets nothing, and planned moves take its shards away. These moves are urgent
// only if the member drains or must not lead the shard.
//
// Shards that only some members should lead form pools (pools.h). The candidates of a pool are
// among the members that it wants. The shards of a pool are spread evenly over its candidates,
// without regard to other shards. The shards without a pool come last. Their part of the assignment
// counts the shards that the pools give to each member, so it evens out the whole.
//
// A vacancy with a ready standby goes to this standby, and counts as held by it in all of the
// above. So after a death some members may hold more than their targets. Planned moves mend that.
//
// The assignment is self-consistent: after any subset of its claims has been carried out, a new
// computation yields the remaining claims unchanged. A claim of a vacancy without a ready standby
// never makes a move necessary that was not necessary before it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/facts.h"

namespace baton::core {

/// Index into AssignmentInput::members, or kNobody.
using MemberIndex = std::uint32_t;
inline constexpr MemberIndex kNobody = std::numeric_limits<MemberIndex>::max();

struct AssignmentMember {
  NodeId id;
  std::uint32_t weight = 1;
  bool draining = false;  ///< by its own state or by an operator's policy
  // Only Assign and PlanMoves set these two, for AssignEvenly and PlanEvenMoves
  // (even_assignment.h). REQUIRES (not checked): the callers of Assign and PlanMoves leave the
  // defaults.
  std::uint32_t elsewhere = 0;  ///< how many shards the pools give it, besides the input's shards
  bool forbidden = false;       ///< the input's shards must leave it at once
  friend bool operator==(const AssignmentMember&, const AssignmentMember&) = default;
};

/// Which members may get the shards of one pool, by the placement rules and the live members.
struct AssignmentPool {
  enum class Place : std::uint8_t {
    kForbidden,  ///< the rules don't let the member begin to lead these shards
    /// The rules let the member lead these shards, but it gets none of them: the rules prefer other
    /// members, or it drains or has weight 0.
    kAllowed,
    kWanted,  ///< the shards are spread over the members with this place
  };
  std::vector<Place> members;  ///< by member index
  friend bool operator==(const AssignmentPool&, const AssignmentPool&) = default;
};

/// One shard as the view shows it.
struct AssignmentShard {
  /// The live member that leads the shard, or for which the shard is kept. kNobody: a vacancy, or
  /// the shard waits.
  MemberIndex leader = kNobody;
  /// For a vacancy: the live member whose earlier session, now dead, the record names. Targets and
  /// loads decide how many vacancies each member gets. Up to this number, a member gets the
  /// vacancies that prefer it, those with the lowest shard numbers first.
  MemberIndex prefers = kNobody;
  /// For a vacancy: the live member that resigned it for `callback_timeout`. Overrides `prefers`.
  /// After the members have got the vacancies that prefer them, as few of the other vacancies as
  /// possible go to a member that they avoid.
  MemberIndex avoids = kNobody;
  /// For a vacancy: the member that gets it, whatever its target, because it is the shard's first
  /// ready standby. kNobody: none is ready. Overrides `prefers`; never the same as `avoids`.
  MemberIndex standby = kNobody;
  /// For a shard that is led: the target of its live move; kNobody: no move, or the target takes no
  /// part.
  MemberIndex moving_to = kNobody;
  /// Nobody leads the shard, and no member of the input may claim it yet. The shard is no vacancy.
  /// The targets count it all the same, so that some member keeps room for it.
  bool waits = false;
  /// 0: any member may lead the shard. Otherwise its pool is AssignmentInput::pools[pool - 1].
  std::uint32_t pool = 0;
  bool vacant() const { return leader == kNobody && !waits; }
  friend bool operator==(const AssignmentShard&, const AssignmentShard&) = default;
};

/// REQUIRES (checked as far as Assign or PlanMoves uses them): members have distinct ids; each
/// index lies within `members` or is kNobody; each pool has a place for each member; each shard's
/// pool exists.
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
  /// By member index: how many shards the member should hold. 0 if it is no candidate. But in a
  /// pool without candidates, the target of each member is what it holds.
  std::vector<std::uint32_t> target;
  /// By member index: how many shards count as led by it, without those that move away from it, and
  /// with those that move to it. A vacancy counts as led by its ready standby.
  std::vector<std::uint32_t> held;
  /// Each vacancy once, in the order of the shards. Leaves out the vacancies without a ready
  /// standby for which there is no candidate.
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
/// carried out. It does so for each pool, and for the shards without a pool. A member gives away as
/// many shards as it holds above its target. Plans no moves in a pool without candidates, or in a
/// pool whose candidates all drain. Leaves out shards with a live move (`moving_to`) and shards
/// with `movable[s] == false`. If `movable` is empty, all other shards may be moved.
///
/// Returns at most `limit` moves, urgent ones first. Among equally urgent moves, the pools come one
/// after another, and then the shards without a pool. In a pool, the members that give shards away
/// take turns. A vacancy with a ready standby counts as led by that standby, so it may be among the
/// moves. The caller leaves this move out, or says that the vacancy is not movable.
///
/// REQUIRES (checked): `movable` is empty or as long as input.shards.
std::vector<PlannedMove> PlanMoves(const AssignmentInput& input, const std::vector<bool>& movable,
                                   std::size_t limit);

}  // namespace baton::core
