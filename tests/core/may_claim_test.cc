// Who may claim: compared with an oracle that knows how each view was made, and with what the
// assignment hands out.
#include "core/may_claim.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/assignment_views.h"
#include "core/succession.h"

namespace baton::core {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kNodes = 4;
constexpr std::uint32_t kShards = 6;
constexpr Duration kSettle = seconds(2);
constexpr seconds kTtl{12};
constexpr int kShortSessions = 5;  // after so many a node gets nothing for 20 s
const TimePoint kStart{seconds(1000)};
const WallTime kWall{std::chrono::hours(500'000)};

/// A node as the test made it.
struct MadeNode {
  bool present = false;
  bool readable = true;
  bool dead = false;           ///< marked dead
  bool value_of_lease = true;  ///< its value names the lease that the key hangs on
  bool drains_itself = false;
  bool drained_by_policy = false;
  std::uint32_t weight = 1;
  bool failing = false;  ///< says that activations fail on it
  bool flaps = false;    ///< came and went several times before
  bool in_zone_a = false;
};

enum class Made {
  kAbsent,
  kNamesPresent,
  kNamesPast,
  kResigned,
  kDamagedAfter,
  kDamagedRead,
  kNewer
};

/// A shard's record as the test made it.
struct MadeShard {
  Made made = Made::kAbsent;
  std::uint32_t node = 0;
  bool of_present_session = false;  ///< for a damage: the leader before it had its present session
  std::uint32_t deaths = 0;         ///< as its record counts them
  seconds age{0};                   ///< of its record
};

struct MadeGroup {
  std::array<MadeNode, kNodes> nodes;
  std::array<MadeShard, kShards> shards;
  bool ruled = false;  ///< the group has the rules of kRules
};

// Of the shards 1 to 5 each has a rule of its own; shard 0 has none.
const Placement kRules{
    {.shards = {{1, 1}}, .require = {{"zone", {"a"}}}, .prefer = {}},
    {.shards = {{2, 2}}, .require = {{"zone", {"b", "c"}}}, .prefer = {}},
    {.shards = {{3, 3}}, .require = {{"node", {"n01"}}}, .prefer = {}},
    {.shards = {{4, 4}}, .require = {}, .prefer = {{{"zone", {"a"}}}, {{"node", {"n00", "n03"}}}}},
    {.shards = {{5, 5}}, .require = {{"disk", {"ssd"}}}, .prefer = {}}};

bool Allowed(const MadeGroup& group, std::uint32_t s, std::uint32_t n) {
  if (!group.ruled) return true;
  switch (s) {
    case 1: return group.nodes[n].in_zone_a;
    case 2: return !group.nodes[n].in_zone_a;
    case 3: return n == 1;
    case 5: return false;
    default: return true;
  }
}

SessionId Present(std::uint32_t node) { return SessionId{100 + node}; }
SessionId Past(std::uint32_t node) { return SessionId{200 + node}; }

MadeGroup Roll(Dice& dice) {
  MadeGroup group;
  for (MadeNode& node : group.nodes) {
    node.present = !dice.OneIn(4);
    node.readable = !dice.OneIn(8);
    node.dead = dice.OneIn(10);
    node.value_of_lease = !dice.OneIn(10);
    node.drains_itself = dice.OneIn(4);
    node.drained_by_policy = dice.OneIn(4);
    node.weight = dice.OneIn(4) ? 0 : 1 + dice.Roll(3);
    node.failing = dice.OneIn(3);
    node.flaps = dice.OneIn(4);
    node.in_zone_a = dice.OneIn(2);
  }
  group.ruled = dice.OneIn(2);
  for (MadeShard& shard : group.shards) {
    shard = {static_cast<Made>(dice.Roll(7)), dice.Roll(kNodes), dice.OneIn(2)};
    shard.deaths = dice.OneIn(2) ? 0 : dice.Roll(8);
    shard.age = seconds(dice.OneIn(2) ? dice.Roll(60) : dice.Roll(120));
  }
  return group;
}

ShardRecordFact RecordOf(std::uint32_t shard, const MadeShard& made, SessionId session) {
  ShardRecordFact fact{.shard = ShardId{shard}, .record = {}};
  fact.record.present = true;
  fact.record.revision = Revision{20};
  fact.record.leader = NodeName(made.node);
  fact.record.session = session;
  fact.record.tally = {.deaths = made.deaths, .begun = kWall - made.age};
  return fact;
}

Fact Unreadable(std::uint32_t shard, Readability readability, std::int64_t revision) {
  ShardRecordFact fact{.shard = ShardId{shard}, .record = {}};
  fact.record.present = true;
  fact.record.revision = Revision{revision};
  fact.record.readability = readability;
  return fact;
}

Fact MemberOf(std::uint32_t number, const MadeNode& node) {
  MemberFact member;
  member.node = NodeName(number);
  member.present = true;
  member.revision = member.create_revision = Revision{18};
  member.lease = Present(number);
  member.session = node.value_of_lease ? Present(number) : Past(number);
  member.readability = node.readable ? Readability::kReadable : Readability::kDamaged;
  member.state = node.dead            ? MemberState::kDead
                 : node.drains_itself ? MemberState::kDraining
                                      : MemberState::kActive;
  member.weight = node.weight;
  member.failing = node.failing;
  member.zone = node.in_zone_a ? "a" : "b";
  member.ttl = kTtl;
  return member;
}

/// Shows the view nothing at all, and then how nodes come and go, each time for a second.
void ShowFlaps(const MadeGroup& group, View& view) {
  view.Merge(Snapshot{.revision = Revision{1}, .facts = {}, .wall = kWall}, kStart - seconds(60));
  TimePoint at = kStart - seconds(50);
  Revision revision{2};
  for (int i = 0; i < 2 * kShortSessions; ++i, at += seconds(1), ++revision.value) {
    Changes changes{.revision = revision, .facts = {}};
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      if (!group.nodes[n].flaps) continue;
      MemberFact member;
      member.node = NodeName(n);
      member.revision = revision;
      if (i % 2 == 0) {
        member.present = true;
        member.create_revision = revision;
        member.session = member.lease = SessionId{1000 + 100 * i + n};
        member.ttl = kTtl;
      }
      changes.facts.push_back(member);
    }
    view.Merge(changes, at);
  }
}

/// The view that shows the group: a snapshot at revision 30, then a watch message.
View ViewOf(const MadeGroup& group) {
  Snapshot snapshot{.revision = Revision{30}, .facts = {}, .wall = kWall};
  Changes later{.revision = Revision{40}, .facts = {}};
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    if (group.nodes[n].present) snapshot.facts.push_back(MemberOf(n, group.nodes[n]));
    if (!group.nodes[n].drained_by_policy) continue;
    PolicyFact drain;
    drain.name = {PolicyKind::kDrain, NodeName(n)};
    drain.present = true;
    drain.revision = Revision{15};
    snapshot.facts.push_back(drain);
  }
  ConfigFact config{.revision = Revision{10}, .present = true, .shards = kShards};
  config.schema = kConfigSchema;
  if (group.ruled) config.placement = kRules;
  snapshot.facts.push_back(config);
  for (std::uint32_t s = 0; s < kShards; ++s) {
    const MadeShard& shard = group.shards[s];
    const SessionId before = shard.of_present_session ? Present(shard.node) : Past(shard.node);
    switch (shard.made) {
      case Made::kAbsent: break;
      case Made::kNamesPresent:
        snapshot.facts.push_back(RecordOf(s, shard, Present(shard.node)));
        break;
      case Made::kNamesPast: snapshot.facts.push_back(RecordOf(s, shard, Past(shard.node))); break;
      case Made::kResigned: {
        ShardRecordFact resigned = RecordOf(s, shard, Present(shard.node));
        resigned.record.resigned_by = std::exchange(resigned.record.leader, "");
        resigned.record.reason = Reason::kCallbackTimeout;
        snapshot.facts.push_back(resigned);
        break;
      }
      case Made::kDamagedAfter:
        snapshot.facts.push_back(RecordOf(s, shard, before));
        later.facts.push_back(Unreadable(s, Readability::kDamaged, 40));
        break;
      case Made::kDamagedRead:
        snapshot.facts.push_back(Unreadable(s, Readability::kDamaged, 20));
        break;
      case Made::kNewer:
        snapshot.facts.push_back(Unreadable(s, Readability::kNewerSchema, 20));
        break;
    }
  }
  View view(kShards, NodeName(0));
  ShowFlaps(group, view);
  view.Merge(snapshot, kStart);
  view.Merge(later, kStart);
  return view;
}

bool TakesPart(const MadeNode& node) {
  return node.present && node.readable && !node.dead && node.value_of_lease;
}

bool Drains(const MadeNode& node) { return node.drains_itself || node.drained_by_policy; }

// All that could begin to lead fail; or several, with half of the weight.
bool FailureIsCommon(const MadeGroup& group) {
  int well = 0;
  int failing = 0;
  std::uint32_t weight_well = 0;
  std::uint32_t weight_failing = 0;
  for (const MadeNode& node : group.nodes) {
    if (!TakesPart(node) || Drains(node) || node.weight == 0) continue;
    ++(node.failing ? failing : well);
    (node.failing ? weight_failing : weight_well) += node.weight;
  }
  return well == 0 || (failing > 1 && weight_failing >= weight_well);
}

// Those that flap rest, unless they are more than the others, or else only failing ones were left.
bool SomeRest(const MadeGroup& group) {
  int flapping = 0;
  int steady = 0;
  int steady_and_well = 0;
  for (const MadeNode& node : group.nodes) {
    if (!TakesPart(node) || Drains(node) || node.weight == 0) continue;
    ++(node.flaps ? flapping : steady);
    steady_and_well += !node.flaps && (!node.failing || FailureIsCommon(group)) ? 1 : 0;
  }
  return flapping <= steady && steady_and_well > 0;
}

// Whether the node gets shards and does not drain.
bool Gets(const MadeGroup& group, const MadeNode& node) {
  if (!TakesPart(node) || node.weight == 0 || Drains(node)) return false;
  if (node.flaps && SomeRest(group)) return false;
  return !node.failing || FailureIsCommon(group);
}

bool OracleOfNode(const MadeGroup& group, std::uint32_t s, std::uint32_t n) {
  const MadeNode& node = group.nodes[n];
  if (!Allowed(group, s, n)) return false;
  if (!Drains(node)) return Gets(group, node);
  bool somebody_stays = false;
  for (std::uint32_t m = 0; m < kNodes; ++m) {
    somebody_stays |= Allowed(group, s, m) && Gets(group, group.nodes[m]);
  }
  return TakesPart(node) && node.weight > 0 && !somebody_stays;
}

// The view finds the record's session ended. It can't know since when, so the leadership counts as
// short for as long as others may wait for its end.
bool Waits(std::uint32_t s, const MadeShard& shard, TimePoint now) {
  const Duration wait = DeathBackoff::WaitAfter(ShardId{s}, shard.deaths + 1);
  return shard.age < seconds(60) + wait && now < kStart + wait;
}

bool Oracle(const MadeGroup& group, std::uint32_t s, std::uint32_t n, TimePoint now) {
  const MadeShard& shard = group.shards[s];
  const bool lives = group.nodes[shard.node].present;
  switch (shard.made) {
    case Made::kNewer: return false;
    case Made::kNamesPresent:
      if (lives) return false;
      if (Waits(s, shard, now)) return false;
      break;
    case Made::kNamesPast:
      if (Waits(s, shard, now)) return false;
      break;
    case Made::kDamagedAfter:
      if (shard.of_present_session && lives) return n == shard.node;
      break;
    case Made::kDamagedRead: {
      bool somebody = false;
      for (const MadeNode& node : group.nodes) somebody |= node.present;
      const Duration ttl = somebody ? Duration(kTtl) : Duration(seconds(10));
      if (now < kStart + ttl + kSettle) return false;
      break;
    }
    default: break;
  }
  return OracleOfNode(group, s, n);
}

// Plan: 20,000 random groups; each shard, each node, before and after the time by which every
// session must be over.
TEST(MayClaim, AgreesWithTheOracle) {
  Dice dice(1);
  int yes = 0;
  for (int round = 0; round < 20'000; ++round) {
    const MadeGroup group = Roll(dice);
    const View view = ViewOf(group);
    for (const Duration after :
         {Duration(seconds(11)), Duration(seconds(13)), Duration(seconds(14))}) {
      const TimePoint now = kStart + after;
      for (std::uint32_t s = 0; s < kShards; ++s) {
        for (std::uint32_t n = 0; n < kNodes; ++n) {
          const bool may = MayClaim(view, ShardId{s}, NodeName(n), kSettle, now);
          ASSERT_EQ(may, Oracle(group, s, n, now))
              << "round " << round << ", shard " << s << ", node " << n;
          yes += may ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(yes, 100'000);
}

// How much the rule of shard 4 prefers the node; 0 is best. All are the same for other shards.
int RankOf(const MadeGroup& group, std::uint32_t s, std::uint32_t n) {
  if (!group.ruled || s != 4 || group.nodes[n].in_zone_a) return 0;
  return n == 0 || n == 3 ? 1 : 2;
}

// Plan: in random groups, the assignment gives a vacancy only to a node that may claim it, and to
// one that the rules prefer; and if some node may claim a shard, and its last leader is gone,
// somebody gets it.
TEST(MayClaim, TheAssignmentGivesVacanciesOnlyToThoseWhoMay) {
  Dice dice(2);
  for (int round = 0; round < 20'000; ++round) {
    const MadeGroup group = Roll(dice);
    const View view = ViewOf(group);
    const TimePoint now = kStart + seconds(dice.OneIn(2) ? 5 : 20);
    const AssignmentOfView assigned = AssignmentFrom(view, kSettle, now);
    std::vector<bool> given(kShards, false);
    for (const PlannedClaim& claim : Assign(assigned.input).claims) {
      const ShardId shard = assigned.shard_of[claim.shard.value];
      const NodeId& node = assigned.input.members[claim.to].id;
      ASSERT_TRUE(MayClaim(view, shard, node, kSettle, now)) << "round " << round << ", " << node;
      std::uint32_t given_to = 0;
      while (NodeName(given_to) != node) ++given_to;
      for (std::uint32_t n = 0; n < kNodes; ++n) {
        if (!MayClaim(view, shard, NodeName(n), kSettle, now)) continue;
        ASSERT_LE(RankOf(group, shard.value, given_to), RankOf(group, shard.value, n))
            << "round " << round << ", " << node;
      }
      given[shard.value] = true;
    }
    for (std::uint32_t s = 0; s < kShards; ++s) {
      const bool open = ClaimableNow(view, ShardId{s}, kSettle, now) == Claimable::kByAnyNode;
      bool somebody = false;
      for (std::uint32_t n = 0; n < kNodes; ++n) {
        somebody |= MayClaim(view, ShardId{s}, NodeName(n), kSettle, now);
      }
      ASSERT_EQ(given[s], open && somebody) << "round " << round << ", shard " << s;
    }
  }
}

}  // namespace
}  // namespace baton::core
