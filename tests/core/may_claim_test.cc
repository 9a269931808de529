// MayClaim, compared with an oracle that knows how each view was made, and with what the
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
const Duration kWatched = seconds(25);  // before kStart: see ShowEarlierSessions
const Duration kEnded = seconds(20);    // before kStart

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
  /// The view saw Past(node) begin before kWatched, and end at kEnded.
  bool seen_before = false;
  bool past_proven = false;     ///< that session is proven dead
  bool present_proven = false;  ///< an absent node's last session is proven dead
  bool another_proven = false;  ///< some other session of it is
  std::uint64_t directory = 0;  ///< of its present process
  Revision ripe_up_to{};        ///< by a mark; 0: there is none
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
  std::uint64_t directory = 0;      ///< in its record
  bool to_stop = false;             ///< its leader resigned in order to stop
  bool released = false;            ///< it resigned after its application had released the shard
};

struct MadeGroup {
  FailoverSettings failover;
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

/// Whether the view watched how the shard's leader led it and ended.
bool Watched(const MadeGroup& group, const MadeShard& shard) {
  const bool of_past = shard.made == Made::kNamesPast ||
                       (shard.made == Made::kDamagedAfter && !shard.of_present_session);
  return of_past && group.nodes[shard.node].seen_before;
}

/// Of the shard's record while it can be read.
Revision RevisionOf(const MadeGroup& group, const MadeShard& shard) {
  return Watched(group, shard) ? Revision{14} : Revision{20};
}

// Most delays end between the times for which the test asks, counted from kStart or from kEnded.
FailoverSettings RollFailover(Dice& dice) {
  FailoverSettings failover;
  if (dice.OneIn(2)) {
    failover.policy = dice.OneIn(2) ? FailoverPolicy::kAfter : FailoverPolicy::kNever;
  }
  constexpr std::array<int, 3> kDelays{12'000, 32'000, 33'500};
  if (failover.policy == FailoverPolicy::kAfter) {
    failover.delay = std::chrono::milliseconds(kDelays[dice.Roll(3)]);
  }
  constexpr std::array<int, 4> kLockDelays{1'000, 12'000, 32'000, 33'500};
  if (dice.OneIn(3)) failover.lock_delay = std::chrono::milliseconds(kLockDelays[dice.Roll(4)]);
  return failover;
}

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
    node.seen_before = dice.OneIn(2);
    node.past_proven = dice.OneIn(3);
    node.present_proven = !node.present && dice.OneIn(3);
    node.another_proven = dice.OneIn(4);
    node.directory = dice.Roll(3);
    constexpr std::array<int, 4> kMarks{13, 14, 19, 20};
    if (dice.OneIn(3)) node.ripe_up_to = Revision{kMarks[dice.Roll(4)]};
  }
  group.ruled = dice.OneIn(2);
  group.failover = RollFailover(dice);
  for (MadeShard& shard : group.shards) {
    shard = {static_cast<Made>(dice.Roll(7)), dice.Roll(kNodes), dice.OneIn(2)};
    shard.deaths = dice.OneIn(2) ? 0 : dice.Roll(8);
    shard.age = seconds(dice.OneIn(2) ? dice.Roll(60) : dice.Roll(120));
    shard.directory = dice.Roll(3);
    shard.to_stop = dice.OneIn(2);
    shard.released = dice.OneIn(2);
  }
  return group;
}

/// The shard's record while it can be read, as it names `session`.
ShardRecordFact RecordOf(const MadeGroup& group, std::uint32_t s, SessionId session) {
  const MadeShard& made = group.shards[s];
  ShardRecordFact fact{.shard = ShardId{s}, .record = {}};
  fact.record.present = true;
  fact.record.revision = RevisionOf(group, made);
  fact.record.leader = NodeName(made.node);
  fact.record.session = session;
  fact.record.tally = {.deaths = made.deaths, .begun = kWall - made.age};
  fact.record.directory = made.directory;
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
  member.directory = node.directory;
  return member;
}

ConfigFact ConfigOf(const MadeGroup& group) {
  ConfigFact config{.revision = Revision{1}, .present = true, .shards = kShards};
  config.schema = kConfigSchema;
  config.failover = group.failover;
  if (group.ruled) config.placement = kRules;
  return config;
}

/// The watch shows the changes at once, and is known to be current.
void Show(View& view, Changes changes, TimePoint at) {
  view.NoteCurrent(at);
  view.Merge(std::move(changes), at);
}

/// Shows the view the config alone, and then how nodes come and go, each time for a second.
void ShowFlaps(const MadeGroup& group, View& view) {
  view.Merge(Snapshot{.revision = Revision{1}, .facts = {Fact(ConfigOf(group))}, .wall = kWall},
             kStart - seconds(60));
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
    Show(view, std::move(changes), at);
  }
}

/// Shows the view sessions that begin, what they lead from kWatched on, and how they end at kEnded.
void ShowEarlierSessions(const MadeGroup& group, View& view) {
  Changes begin{.revision = Revision{12}, .facts = {}};
  Changes lead{.revision = Revision{14}, .facts = {}};
  Changes end{.revision = Revision{16}, .facts = {}};
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    if (!group.nodes[n].seen_before) continue;
    MemberFact member;
    member.node = NodeName(n);
    member.revision = end.revision;
    end.facts.push_back(member);
    member.present = true;
    member.revision = member.create_revision = begin.revision;
    member.session = member.lease = Past(n);
    member.ttl = kTtl;
    begin.facts.push_back(member);
  }
  for (std::uint32_t s = 0; s < kShards; ++s) {
    const MadeShard& shard = group.shards[s];
    if (!Watched(group, shard)) continue;
    lead.facts.push_back(RecordOf(group, s, Past(shard.node)));
  }
  Show(view, std::move(begin), kStart - kWatched - seconds(5));
  Show(view, std::move(lead), kStart - kWatched);
  Show(view, std::move(end), kStart - kEnded);
}

/// Shows the group's keys about deaths and about owners that are gone for too long. The deaths are
/// old: a watch that lags behind the snapshot shows the ends of the sessions, which the view knows.
void ShowProofsAndMarks(const MadeGroup& group, View& view) {
  Changes changes{.revision = Revision{41}, .facts = {}};
  const auto died = [&](std::uint32_t n, SessionId session) {
    const Revision ended{2};
    DeathFact death{.revision = ended, .present = true, .node = NodeName(n)};
    death.session = session;
    changes.facts.push_back(death);
    changes.facts.push_back(MemberFact{.node = NodeName(n), .revision = ended});
  };
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    const MadeNode& node = group.nodes[n];
    if (node.past_proven) died(n, Past(n));
    if (node.present_proven) died(n, Present(n));
    if (node.another_proven) died(n, SessionId{300 + n});
    if (node.ripe_up_to == Revision{}) continue;
    changes.facts.push_back(RipeFact{.node = NodeName(n),
                                     .revision = changes.revision,
                                     .present = true,
                                     .up_to = node.ripe_up_to});
  }
  Show(view, std::move(changes), kStart);
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
  snapshot.facts.push_back(ConfigOf(group));
  for (std::uint32_t s = 0; s < kShards; ++s) {
    const MadeShard& shard = group.shards[s];
    const SessionId before = shard.of_present_session ? Present(shard.node) : Past(shard.node);
    switch (shard.made) {
      case Made::kAbsent: break;
      case Made::kNamesPresent:
        snapshot.facts.push_back(RecordOf(group, s, Present(shard.node)));
        break;
      case Made::kNamesPast: snapshot.facts.push_back(RecordOf(group, s, Past(shard.node))); break;
      case Made::kResigned: {
        ShardRecordFact resigned = RecordOf(group, s, Present(shard.node));
        resigned.record.resigned_by = std::exchange(resigned.record.leader, "");
        resigned.record.reason = shard.to_stop ? Reason::kShutdown : Reason::kCallbackTimeout;
        resigned.record.released = shard.released;
        snapshot.facts.push_back(resigned);
        break;
      }
      case Made::kDamagedAfter:
        snapshot.facts.push_back(RecordOf(group, s, before));
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
  ShowEarlierSessions(group, view);
  view.Merge(snapshot, kStart);
  Show(view, std::move(later), kStart);
  ShowProofsAndMarks(group, view);
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

/// When the view learnt that the shard's record is in nobody's force.
TimePoint UnledSince(const MadeGroup& group, const MadeShard& shard) {
  return Watched(group, shard) ? kStart - kEnded : kStart;
}

// The record's session has ended. If the view did not see that, it can't know since when, so the
// leadership counts as short for as long as others may wait for its end.
bool WaitsAfterDeaths(const MadeGroup& group, std::uint32_t s, TimePoint now) {
  const MadeShard& shard = group.shards[s];
  if (shard.made == Made::kResigned) return false;
  const Duration wait = DeathBackoff::WaitAfter(ShardId{s}, shard.deaths + 1);
  if (Watched(group, shard)) return now < kStart - kEnded + wait;  // it led for 5 s
  return shard.age < seconds(60) + wait && now < kStart + wait;
}

// After its leader was lost, nobody leads a shard for the lock delay, unless that very session is
// proven dead, or the application had released the shard.
bool Locked(const MadeGroup& group, const MadeShard& shard, TimePoint now) {
  const MadeNode& node = group.nodes[shard.node];
  switch (shard.made) {
    case Made::kNamesPresent:
      if (node.present_proven) return false;
      break;
    case Made::kNamesPast:
      if (node.past_proven) return false;
      break;
    case Made::kResigned:
      if (shard.released) return false;
      break;
    default: return false;
  }
  return now < UnledSince(group, shard) + group.failover.lock_delay;
}

// For the delay after its owner was lost, only the owner leads the shard again. An owner that is
// here, or whose last leadership of it the view did not see, was lost when the view learnt that
// nobody leads the shard. One that came and went before its last session, never for the whole
// delay, was lost when it went first. So was one that is here, in another session, and may not lead
// the shard. And a mark ends the delay for all.
bool Ripe(const MadeGroup& group, std::uint32_t s, TimePoint now) {
  const MadeShard& shard = group.shards[s];
  const MadeNode& owner = group.nodes[shard.node];
  if (owner.ripe_up_to >= RevisionOf(group, shard)) return true;
  TimePoint lost = kStart;
  const bool back = owner.present && (!TakesPart(owner) || Allowed(group, s, shard.node));
  if (!back && Watched(group, shard)) {
    lost = owner.flaps ? kStart - seconds(49) : kStart - kEnded;
  }
  return now >= lost + group.failover.delay;
}

enum class Open { kToNobody, kToOwner, kToAll };

/// To whom the failover policy opens a vacancy with a readable record.
Open OpenBy(const MadeGroup& group, std::uint32_t s, TimePoint now) {
  const MadeShard& shard = group.shards[s];
  const FailoverPolicy policy = group.failover.policy;
  const bool owned = shard.made != Made::kResigned || shard.to_stop;
  if (policy == FailoverPolicy::kImmediate || !owned) return Open::kToAll;
  if (policy == FailoverPolicy::kAfter && Ripe(group, s, now)) return Open::kToAll;
  return Open::kToOwner;
}

// A damaged record says nothing of owners, proofs and releases. So under `never` nobody replaces
// it; and with a lock delay it waits for that, from when all sessions of that time must be over.
Open OpenDamage(const MadeGroup& group, const MadeShard& shard, TimePoint now) {
  if (group.failover.policy == FailoverPolicy::kNever) return Open::kToNobody;
  bool somebody = false;
  for (const MadeNode& node : group.nodes) somebody |= node.present;
  const Duration ttl = somebody ? Duration(kTtl) : Duration(seconds(10));
  const Duration lock = group.failover.lock_delay;
  const bool known = shard.made == Made::kDamagedAfter;
  if (known && lock == Duration{0}) return Open::kToAll;  // the end of its last leader is known
  return now >= kStart + ttl + kSettle + lock ? Open::kToAll : Open::kToNobody;
}

// The owner takes back all that is its own, also without weight, and while it drains. Under `never`
// it must have the state directory that led the shard.
bool OracleOfOwner(const MadeGroup& group, std::uint32_t s, std::uint32_t n) {
  const MadeShard& shard = group.shards[s];
  const MadeNode& node = group.nodes[n];
  if (n != shard.node || !Allowed(group, s, n) || !TakesPart(node)) return false;
  if (group.failover.policy != FailoverPolicy::kNever) return true;
  return node.directory != 0 && node.directory == shard.directory;
}

bool Oracle(const MadeGroup& group, std::uint32_t s, std::uint32_t n, TimePoint now) {
  const MadeShard& shard = group.shards[s];
  const bool lives = group.nodes[shard.node].present;
  Open open = Open::kToAll;
  switch (shard.made) {
    case Made::kAbsent: break;  // nobody ever led it
    case Made::kNewer: return false;
    case Made::kNamesPresent:
    case Made::kNamesPast:
    case Made::kResigned:
      if (shard.made == Made::kNamesPresent && lives) return false;
      if (WaitsAfterDeaths(group, s, now) || Locked(group, shard, now)) return false;
      open = OpenBy(group, s, now);
      break;
    case Made::kDamagedAfter:
    case Made::kDamagedRead:
      if (shard.made == Made::kDamagedAfter && shard.of_present_session && lives) {
        return n == shard.node;
      }
      open = OpenDamage(group, shard, now);
      break;
  }
  if (open == Open::kToAll) return OracleOfNode(group, s, n);
  return open == Open::kToOwner && OracleOfOwner(group, s, n);
}

// Plan: 20,000 random groups; each shard, each node, before and after the times by which every
// session must be over, and the delays of failover and of the lock end.
TEST(MayClaim, AgreesWithTheOracle) {
  Dice dice(1);
  int yes = 0;
  int by_owner = 0;
  for (int round = 0; round < 20'000; ++round) {
    const MadeGroup group = Roll(dice);
    const View view = ViewOf(group);
    for (const Duration after : {Duration(seconds(11)), Duration(seconds(13)),
                                 Duration(seconds(14)), Duration(seconds(16))}) {
      const TimePoint now = kStart + after;
      for (std::uint32_t s = 0; s < kShards; ++s) {
        for (std::uint32_t n = 0; n < kNodes; ++n) {
          const bool may = MayClaim(view, ShardId{s}, NodeName(n), kSettle, now);
          ASSERT_EQ(may, Oracle(group, s, n, now))
              << "round " << round << ", shard " << s << ", node " << n;
          yes += may ? 1 : 0;
          const Claimable claimable = ClaimableNow(view, ShardId{s}, kSettle, now);
          by_owner += may && claimable == Claimable::kByOwner ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(yes, 100'000);
  EXPECT_GT(by_owner, 5'000);
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

// Plan: a record is damaged, and nobody knows who led. A member key without a lease states a TTL of
// a day: it is no session. One with a lease states two hours, which is more than a session can
// have.
TEST(MayClaim, ADamageWaitsForNoLongerThanASessionCanLive) {
  for (const bool leased : {false, true}) {
    MemberFact member{.node = "n9", .revision = Revision{5}, .present = true};
    member.lease = SessionId{leased ? 7 : 0};
    member.session = SessionId{7};
    member.ttl = std::chrono::hours(leased ? 2 : 24);
    ShardRecordFact damaged{.shard = ShardId{0}, .record = {.revision = Revision{6}}};
    damaged.record.present = true;
    damaged.record.readability = Readability::kDamaged;
    View view(1, "n1");
    view.Merge(Snapshot{.revision = Revision{10}, .facts = {member, damaged}}, kStart);
    EXPECT_EQ(DamageOverAt(view, ShardId{0}, kSettle),
              kStart + kSettle + (leased ? seconds(3600) : seconds(10)));
  }
}

}  // namespace
}  // namespace baton::core
