// Who should lead what: succession (vacancies) and balance (moves).
//
// Pure, deterministic functions of their input: no clock, no chance, no floating point; results
// don't depend on the order of members given (they are sorted by id inside). Nodes, `batonctl plan`
// and the tests call the very same functions.
//
// The division is self-consistent: after any part of its claims has been carried out, computing it
// again yields the rest unchanged. A succession followed by PlanMoves plans nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/facts.h"

namespace baton::core {

/// Index into DivisionInput::members; kNobody where there is none.
using MemberIndex = std::uint32_t;
inline constexpr MemberIndex kNobody = std::numeric_limits<MemberIndex>::max();

struct DivisionMember {
  NodeId id;
  std::uint32_t weight = 1;
  bool draining = false;  ///< by its own word or by policy
};

/// One shard of the present view.
struct DivisionShard {
  MemberIndex leader = kNobody;  ///< the live member in force; kNobody: a vacancy
  /// A vacancy whose record names a dead session of this live node: it comes first.
  MemberIndex prefers = kNobody;
  /// A vacancy resigned for `callback_timeout` by this live member: it comes last, after every seat
  /// that others fill; it gets the shard only where no other seat is left. Overrides `prefers`.
  MemberIndex avoids = kNobody;
  /// The target of this shard's live move (only where led); kNobody: none.
  MemberIndex moving_to = kNobody;
};

/// REQUIRES: members have distinct ids; indexes lie within `members` or are kNobody.
struct DivisionInput {
  std::vector<DivisionMember> members;
  std::vector<DivisionShard> shards;  ///< by shard number
};

struct PlannedClaim {
  ShardId shard;
  MemberIndex to = kNobody;
  friend bool operator==(const PlannedClaim&, const PlannedClaim&) = default;
};

struct Division {
  std::vector<std::uint32_t> target;  ///< by member index: seats each should hold
  std::vector<std::uint32_t> held;    ///< led - going + coming by live moves
  std::vector<PlannedClaim> claims;   ///< every vacancy once, by number; none without candidates
};

/// The whole division: targets and, for each vacancy, exactly one claimer.
/// O(shards + vacancies log vacancies + members log members).
Division Divide(const DivisionInput& input);

struct PlannedMove {
  ShardId shard;
  MemberIndex from = kNobody;
  MemberIndex to = kNobody;
  Reason reason = Reason::kRebalance;  ///< kDrain off a draining member
  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

/// The fewest moves that bring every member to its target: sum of what is held above target. Shards
/// with a live move stay as they are; `movable[s] == false` (cooldown) keeps a shard out, for this
/// time. `movable` empty: all are. At most `limit` moves, drains first, spread over donors in turn.
std::vector<PlannedMove> PlanMoves(const DivisionInput& input, const std::vector<bool>& movable,
                                   std::size_t limit);

/// A numbered way to divide: what rolling upgrades need. Members say the highest number they can
/// run; everybody uses the lowest of these among live members, so all compute the same while
/// versions are mixed, and all turn to the next one when the last member without it is gone, each
/// as soon as its view shows that. Who can run a number can run all lower ones.
///
/// A new function keeps the targets where everything is led: then an upgrade moves no shard.
struct DivisionFunction {
  std::uint32_t version = 0;
  Division (*divide)(const DivisionInput& input) = nullptr;
  std::vector<PlannedMove> (*plan_moves)(const DivisionInput& input,
                                         const std::vector<bool>& movable,
                                         std::size_t limit) = nullptr;
};
/// Divide and PlanMoves.
inline constexpr DivisionFunction kFirstDivision{1, Divide, PlanMoves};

/// Of `known`, in the order of their numbers, the last one up to `wanted`; the first one where
/// `wanted` is below it. REQUIRES: `known` is not empty.
const DivisionFunction& NewestUpTo(const std::vector<DivisionFunction>& known,
                                   std::uint32_t wanted);

}  // namespace baton::core
