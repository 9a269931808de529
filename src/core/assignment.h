// The assignment: which member should lead which shard. Assign gives each vacancy to a member
// (succession). PlanMoves balances the shards that are led.
//
// Pure, deterministic functions of their input: no clock, no randomness, no floating point. The
// order of the members in the input does not matter (they are sorted by id inside). Nodes,
// `batonctl plan` and the tests call the very same functions.
//
// Candidates are the members with a positive weight that don't drain. If there are none, they are
// the draining members with a positive weight; these get vacancies, and nothing moves. A member
// with weight 0 gets nothing, and planned moves take its shards away; these moves are not urgent.
//
// Shards that only some members should lead form pools (pools.h). The candidates of a pool are
// among the members that it wants. Its shards are spread evenly over them, without regard to other
// shards. The shards without a pool come last. Their part of the assignment counts what the pools
// give to each member, so they even out the whole.
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
  // Only Assign and PlanMoves set these two, for AssignEvenly (even_assignment.h). REQUIRES: their
  // callers leave them as they are here.
  std::uint32_t elsewhere = 0;  ///< how many shards it holds besides the input's shards
  bool forbidden = false;       ///< the shards must leave it at once
  friend bool operator==(const AssignmentMember&, const AssignmentMember&) = default;
};

/// Which members may get the shards of one pool, by the placement rules and the live members.
struct AssignmentPool {
  enum class Place : std::uint8_t {
    kForbidden,  ///< the rules don't let the member begin to lead these shards
    kAllowed,    ///< it may lead them, but others are preferred
    kWanted,     ///< it may lead them, and gets them: the rules prefer no other live member
  };
  std::vector<Place> members;  ///< by member index
  friend bool operator==(const AssignmentPool&, const AssignmentPool&) = default;
};

/// One shard as the view shows it.
struct AssignmentShard {
  /// The live member that leads the shard, or for which the shard is kept. kNobody: a vacancy, or
  /// the shard waits.
  MemberIndex leader = kNobody;
  /// For a vacancy: the live node whose earlier session, now dead, the record names. Targets and
  /// loads decide how many vacancies each node gets. Within its number, this node gets this one.
  MemberIndex prefers = kNobody;
  /// For a vacancy: the live member that resigned it for `callback_timeout`. Overrides `prefers`.
  /// Once preferred members have theirs, as few vacancies as possible go to a member they avoid.
  MemberIndex avoids = kNobody;
  /// For a vacancy: the member that gets it, whatever its target, because it is the shard's first
  /// ready standby. kNobody: none is ready. Overrides `prefers`; never the same as `avoids`.
  MemberIndex standby = kNobody;
  /// For a shard that is led: the target of its live move; kNobody: no move, or the target takes no
  /// part.
  MemberIndex moving_to = kNobody;
  /// Nobody leads the shard, and nobody may claim it yet. Such a shard is no vacancy. The targets
  /// count it, so that some member keeps room for it.
  bool waits = false;
  /// 0: any member may lead the shard. Otherwise its pool is AssignmentInput::pools[pool - 1].
  std::uint32_t pool = 0;
  bool vacant() const { return leader == kNobody && !waits; }
  friend bool operator==(const AssignmentShard&, const AssignmentShard&) = default;
};

/// REQUIRES: members have distinct ids; each index lies within `members` or is kNobody; each pool
/// has a place for each member; each shard's pool exists.
struct AssignmentInput {
  std::vector<AssignmentMember> members;
  std::vector<AssignmentShard> shards;  ///< by shard number
  std::vector<AssignmentPool> pools = {};
};

struct PlannedClaim {
  ShardId shard;
  MemberIndex to = kNobody;
  friend bool operator==(const PlannedClaim&, const PlannedClaim&) = default;
};

struct Assignment {
  std::vector<std::uint32_t> target;  ///< by member index: how many shards the member should hold
  /// By member index: the shards that count as led by it, minus those moving away, plus those
  /// moving here. A vacancy counts as led by its ready standby.
  std::vector<std::uint32_t> held;
  /// Each vacancy once, by shard number, but none of a pool without candidates. Empty if there are
  /// no candidates at all.
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

/// Plans the fewest moves that bring every member to its target, in each pool: one for each shard
/// that a member holds above its target. No moves in a pool without candidates, or whose candidates
/// all drain. Shards with a live move stay as they are. A shard with `movable[s] == false` is not
/// moved this time. If `movable` is empty, all shards may be moved. Returns at most `limit` moves,
/// urgent ones first. Among equally urgent ones, the pools come one after another, and the shards
/// without a pool last. In a pool, the members that give shards away take turns. A vacancy with a
/// ready standby counts as led by that standby, so it may be among the moves. The caller leaves
/// this move out, or says that the vacancy is not movable.
/// REQUIRES (checked): `movable` is empty or as long as input.shards.
std::vector<PlannedMove> PlanMoves(const AssignmentInput& input, const std::vector<bool>& movable,
                                   std::size_t limit);

}  // namespace baton::core
