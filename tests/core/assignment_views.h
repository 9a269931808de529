// Generates views for tests of the assignment, and carries out its plans on them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "core/assignment.h"

namespace baton::core {

/// Random numbers from a seed, the same on every machine (unlike std::uniform_int_distribution).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// From 0 to `sides` - 1. REQUIRES: sides > 0.
  std::uint32_t Roll(std::size_t sides) { return static_cast<std::uint32_t>(engine_() % sides); }
  bool OneIn(std::size_t sides) { return Roll(sides) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// "n00", "n01", ...
inline NodeId NodeName(std::uint32_t number) {
  char name[16];
  std::snprintf(name, sizeof name, "n%02u", number);
  return name;
}

inline AssignmentInput EqualMembers(std::uint32_t members, std::uint32_t shards) {
  AssignmentInput view;
  for (std::uint32_t m = 0; m < members; ++m) view.members.push_back({.id = NodeName(m)});
  view.shards.resize(shards);
  return view;
}

inline void CarryOut(const std::vector<PlannedClaim>& claims, AssignmentInput& view) {
  for (const PlannedClaim& claim : claims) view.shards[claim.shard.value] = {.leader = claim.to};
}

inline void CarryOut(const std::vector<PlannedMove>& moves, AssignmentInput& view) {
  for (const PlannedMove& move : moves) view.shards[move.shard.value] = {.leader = move.to};
}

/// How many shards each member leads.
inline std::vector<std::uint32_t> CountLed(const AssignmentInput& view) {
  std::vector<std::uint32_t> led(view.members.size(), 0);
  for (const AssignmentShard& shard : view.shards) {
    if (shard.leader != kNobody) ++led[shard.leader];
  }
  return led;
}

/// The view after `gone`'s member key was deleted: its shards are vacant, moves to it are void.
/// `gone` is not among the members any more, and the indexes after it are one lower.
inline AssignmentInput WithoutMember(const AssignmentInput& view, MemberIndex gone) {
  AssignmentInput rest = view;
  rest.members.erase(rest.members.begin() + gone);
  const auto renumber = [&](MemberIndex& m) {
    if (m == gone) {
      m = kNobody;
    } else if (m != kNobody && m > gone) {
      --m;
    }
  };
  for (AssignmentShard& shard : rest.shards) {
    renumber(shard.leader);
    renumber(shard.prefers);
    renumber(shard.avoids);
    renumber(shard.moving_to);
  }
  return rest;
}

/// A random view may contain these, besides members with weights and drains.
struct ViewOptions {
  std::uint32_t max_members = 40;
  std::uint32_t max_shards = 400;
  bool live_moves = true;
  bool waits = true;  ///< shards that nobody may claim yet
};

inline void AddRandomMember(Dice& dice, AssignmentInput& view) {
  view.members.push_back({.id = NodeName(static_cast<std::uint32_t>(view.members.size())),
                          .weight = dice.OneIn(3) ? dice.Roll(6) : 1,
                          .draining = dice.OneIn(6)});
}

/// Half of the views grew like real groups (an assignment carried out, then deaths, drains and
/// newcomers); the others have random leaders.
inline AssignmentInput RandomView(Dice& dice, const ViewOptions& options = {}) {
  AssignmentInput view;
  const std::uint32_t members = dice.Roll(options.max_members + 1);
  for (std::uint32_t m = 0; m < members; ++m) AddRandomMember(dice, view);
  view.shards.resize(dice.Roll(options.max_shards + 1));
  if (members == 0) return view;
  if (dice.OneIn(2)) {
    CarryOut(Assign(view).claims, view);
    for (AssignmentMember& member : view.members) member.draining = dice.OneIn(6);
    const std::uint32_t newcomers = dice.Roll(4);
    for (std::uint32_t m = 0; m < newcomers; ++m) AddRandomMember(dice, view);
  } else {
    for (AssignmentShard& shard : view.shards) {
      shard.leader = dice.Roll(dice.OneIn(2) ? members : members / 2 + 1);
    }
  }
  if (dice.OneIn(12)) {
    for (AssignmentMember& member : view.members) member.draining = true;
  }
  const auto anyone = [&] { return dice.Roll(view.members.size()); };
  const MemberIndex dead = anyone();
  const std::uint32_t vacant_one_in = 1 + dice.Roll(8);
  const std::uint32_t words_one_in = 1 + dice.Roll(6);
  const bool some_wait = options.waits && dice.OneIn(3);
  for (AssignmentShard& shard : view.shards) {
    if (shard.leader == dead || dice.OneIn(vacant_one_in)) shard.leader = kNobody;
    if (shard.leader == kNobody) {
      shard.waits = some_wait && dice.OneIn(3);
      if (dice.OneIn(words_one_in)) shard.prefers = dice.OneIn(2) ? dead : anyone();
      if (dice.OneIn(words_one_in)) shard.avoids = dice.OneIn(2) ? dead : anyone();
    } else if (options.live_moves && dice.OneIn(10)) {
      shard.moving_to = anyone();
    }
  }
  return view;
}

}  // namespace baton::core
