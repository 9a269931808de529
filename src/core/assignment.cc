#include "core/assignment.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/check.h"
#include "core/even_assignment.h"

namespace baton::core {
namespace {

using Place = AssignmentPool::Place;

// The shards of one pool as an input of their own.
struct Part {
  AssignmentInput input;
  std::vector<std::size_t> number;  ///< of each shard in the whole input
};

// Parts are numbered like AssignmentShard::pool.
std::vector<Part> SplitByPool(const AssignmentInput& whole) {
  std::vector<Part> parts(whole.pools.size() + 1);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    parts[p].input.members = whole.members;
    if (p == 0) continue;
    const std::vector<Place>& places = whole.pools[p - 1].members;
    BATON_CHECK(places.size() == whole.members.size());
    for (MemberIndex m = 0; m < places.size(); ++m) {
      AssignmentMember& member = parts[p].input.members[m];
      if (places[m] != Place::kWanted) member.weight = 0;
      member.forbidden = places[m] == Place::kForbidden;
    }
  }
  for (std::size_t s = 0; s < whole.shards.size(); ++s) {
    BATON_CHECK(whole.shards[s].pool < parts.size());
    Part& part = parts[whole.shards[s].pool];
    part.input.shards.push_back(whole.shards[s]);
    part.number.push_back(s);
  }
  return parts;
}

bool Nobody(const Part& part) {
  return std::all_of(part.input.members.begin(), part.input.members.end(),
                     [](const AssignmentMember& member) { return member.weight == 0; });
}

// Adds a part's assignment. If nobody is wanted, everybody keeps what it has.
void Add(const Part& part, Assignment of_part, Assignment& whole) {
  if (Nobody(part)) of_part.target = of_part.held;
  for (MemberIndex m = 0; m < whole.target.size(); ++m) {
    whole.target[m] += of_part.target[m];
    whole.held[m] += of_part.held[m];
  }
  for (const PlannedClaim& claim : of_part.claims) {
    const auto number = static_cast<std::uint32_t>(part.number[claim.shard.value]);
    whole.claims.push_back({ShardId{number}, claim.to});
  }
}

// The shards that the pools give to the members also count in the part without a pool, which does
// not know them yet.
void SetElsewhere(const Assignment& pools, Part& rest) {
  for (MemberIndex m = 0; m < pools.target.size(); ++m) {
    rest.input.members[m].elsewhere = pools.target[m];
  }
}

// Calls `each` for the parts with a pool, and then for the rest. Returns the whole assignment.
template <typename Each>
Assignment ForEachPart(const AssignmentInput& input, Each each) {
  std::vector<Part> parts = SplitByPool(input);
  const std::size_t members = input.members.size();
  Assignment whole{.target = std::vector<std::uint32_t>(members, 0),
                   .held = std::vector<std::uint32_t>(members, 0),
                   .claims = {}};
  for (std::size_t p = 1; p < parts.size(); ++p) {
    each(parts[p]);
    Add(parts[p], AssignEvenly(parts[p].input), whole);
  }
  Part& rest = parts.front();
  SetElsewhere(whole, rest);
  each(rest);
  Assignment of_rest = AssignEvenly(rest.input);
  for (MemberIndex m = 0; m < members; ++m) {
    const std::uint32_t elsewhere = rest.input.members[m].elsewhere;
    of_rest.held[m] -= elsewhere;
    of_rest.target[m] -= std::min(of_rest.target[m], elsewhere);  // 0 for those that drain
  }
  Add(rest, std::move(of_rest), whole);
  return whole;
}

bool HasStandby(const AssignmentShard& shard) { return shard.vacant() && shard.standby != kNobody; }

// The input with each vacancy that has a ready standby as led by it; nullopt: there is none.
std::optional<AssignmentInput> WithStandbys(const AssignmentInput& input) {
  if (std::none_of(input.shards.begin(), input.shards.end(), HasStandby)) return std::nullopt;
  AssignmentInput result = input;
  for (AssignmentShard& shard : result.shards) {
    if (!HasStandby(shard)) continue;
    BATON_CHECK(shard.standby < input.members.size());
    shard.leader = shard.standby;
  }
  return result;
}

Assignment AssignRest(const AssignmentInput& input) {
  return input.pools.empty() ? AssignEvenly(input) : ForEachPart(input, [](const Part&) {});
}

std::vector<PlannedMove> PlanMovesOfRest(const AssignmentInput& input,
                                         const std::vector<bool>& movable, std::size_t limit) {
  if (input.pools.empty()) return PlanEvenMoves(input, movable, limit);
  BATON_CHECK(movable.empty() || movable.size() == input.shards.size());
  std::vector<PlannedMove> moves;
  ForEachPart(input, [&](const Part& part) {
    std::vector<bool> movable_here;
    if (!movable.empty()) {
      for (const std::size_t number : part.number) movable_here.push_back(movable[number]);
    }
    for (PlannedMove move : PlanEvenMoves(part.input, movable_here, limit)) {
      move.shard = ShardId{static_cast<std::uint32_t>(part.number[move.shard.value])};
      moves.push_back(move);
    }
  });
  std::stable_sort(moves.begin(), moves.end(), [](const PlannedMove& a, const PlannedMove& b) {
    return a.urgent && !b.urgent;
  });
  if (moves.size() > limit) moves.resize(limit);
  return moves;
}

}  // namespace

Assignment Assign(const AssignmentInput& input) {
  const std::optional<AssignmentInput> with_standbys = WithStandbys(input);
  Assignment whole = AssignRest(with_standbys ? *with_standbys : input);
  for (std::size_t s = 0; with_standbys && s < input.shards.size(); ++s) {
    if (!HasStandby(input.shards[s])) continue;
    whole.claims.push_back({ShardId{static_cast<std::uint32_t>(s)}, input.shards[s].standby});
  }
  std::sort(whole.claims.begin(), whole.claims.end(),
            [](const PlannedClaim& a, const PlannedClaim& b) { return a.shard < b.shard; });
  return whole;
}

std::vector<PlannedMove> PlanMoves(const AssignmentInput& input, const std::vector<bool>& movable,
                                   std::size_t limit) {
  const std::optional<AssignmentInput> with_standbys = WithStandbys(input);
  return PlanMovesOfRest(with_standbys ? *with_standbys : input, movable, limit);
}

}  // namespace baton::core
