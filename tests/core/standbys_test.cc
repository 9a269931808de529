// Which nodes stand by for which shards: compared with naive_replicas.h over random groups, and by
// properties.
#include "core/standbys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/drawn_nodes.h"
#include "core/naive_replicas.h"
#include "core/view.h"

namespace baton::core {
namespace {

constexpr std::uint32_t kOfChurn = 1000;  // shards

MemberFact NodeWith(const NodeId& id, const std::string& zone, std::uint32_t weight = 1) {
  MemberFact fact;
  fact.node = id;
  fact.zone = zone;
  fact.weight = weight;
  return fact;
}

Facts Zones(int nodes, int zones = 3) {
  Facts facts;
  for (int i = 0; i < nodes; ++i) {
    const NodeId id = "n" + std::to_string(100 + i);
    facts[id] = NodeWith(id, std::string(1, static_cast<char>('a' + i % zones)));
  }
  return facts;
}

PlacementRule StandbyRule(std::uint32_t standbys, const std::string& spread = "") {
  PlacementRule rule;
  rule.standbys = standbys;
  rule.spread = spread;
  return rule;
}

// The table after a first Update.
struct Table {
  Table(const Placement& placement, std::uint32_t count, const Facts& facts) : shards(count) {
    rules.Set(placement, shards);
    Take(facts);
  }
  std::vector<ShardId> Take(const Facts& facts, std::size_t most = Standbys::kAllAtOnce) {
    return standbys.Update(rules, shards, Pointers(facts), most);
  }
  std::uint32_t shards;
  ShardRules rules;
  Standbys standbys;
};

Facts RandomFacts(std::mt19937_64& random) {
  Facts facts;
  const int nodes = static_cast<int>(random() % 12);
  for (int i = 0; i < nodes; ++i) {
    const NodeId id = "n" + std::to_string(random() % 16);
    facts[id] = NodeWith(id, std::string(1, static_cast<char>('a' + random() % 3)),
                         1 + static_cast<std::uint32_t>(random() % 3));
    if (random() % 2 == 0) facts[id].labels["disk"] = random() % 2 == 0 ? "ssd" : "nvme";
  }
  return facts;
}

Placement RandomRules(std::mt19937_64& random) {
  Placement placement;
  const int rules = static_cast<int>(random() % 3);
  for (int i = 0; i < rules; ++i) {
    PlacementRule rule = StandbyRule(static_cast<std::uint32_t>(random() % 4));
    if (rule.standbys > 0 && random() % 2 == 0) rule.spread = "zone";
    if (random() % 2 == 0) rule.shards = {{0, 9}};
    if (random() % 3 == 0) rule.require = {{"zone", {"a", "b"}}};
    if (random() % 3 == 0) rule.prefer = {{{"disk", {"ssd"}}}, {{"zone", {"c"}}}};
    placement.push_back(rule);
  }
  return placement;
}

// Zones of different sizes, weights of all kinds, and labels that only some nodes have.
Facts UnevenFacts(std::mt19937_64& random) {
  Facts facts;
  for (std::size_t nodes = random() % 15; facts.size() < nodes;) {
    const NodeId id = "n" + std::to_string(random() % 30);
    const std::string zone = Uneven(random, {"a", "b", "c", ""});
    const std::uint32_t heaviest = random() % 4 == 0 ? 1000 : 3;
    facts[id] = NodeWith(id, zone, 1 + static_cast<std::uint32_t>(random() % heaviest));
    if (random() % 2 == 0) facts[id].labels["disk"] = Uneven(random, {"ssd", "nvme"});
    if (random() % 3 > 0) facts[id].labels["rack"] = Uneven(random, {"r1", "r2", "r3", "r4", "r5"});
  }
  return facts;
}

PlacementRule RuleOfAllKinds(std::mt19937_64& random) {
  PlacementRule rule = StandbyRule(1 + static_cast<std::uint32_t>(random() % 4));
  rule.spread = Uneven(random, {"zone", "rack", "", "disk", "node"});
  if (random() % 3 == 0) rule.require = {{"zone", {"a", "b"}}};
  if (random() % 4 == 0) rule.require.push_back({"disk", {"ssd", "nvme"}});
  if (random() % 2 == 0) rule.prefer.push_back({{"disk", {Uneven(random, {"ssd", "nvme"})}}});
  if (random() % 3 == 0) rule.prefer.push_back({{"zone", {"b", ""}}, {"rack", {"r1", "r2"}}});
  return rule;
}

// For each shard the replicas, and the standbys of each leader, also of one that the rule forbids.
void ExpectNaive(const Table& table, const Facts& facts, const std::string& which) {
  for (std::uint32_t s = 0; s < table.shards; ++s) {
    const PlacementRule* const rule = table.rules.Of(ShardId{s});
    const std::vector<NodeId> replicas = NaiveReplicas(rule, ShardId{s}, Pointers(facts));
    ASSERT_EQ(table.standbys.ReplicasOf(ShardId{s}), replicas) << which << " shard " << s;
    ASSERT_EQ(table.standbys.Of(ShardId{s}, nullptr), replicas) << which << " shard " << s;
    for (const auto& [id, fact] : facts) {
      ASSERT_EQ(table.standbys.Of(ShardId{s}, &fact),
                NaiveStandbys(rule, ShardId{s}, Pointers(facts), &fact))
          << which << " shard " << s << " led by " << id;
    }
  }
}

// Plan: in 4,000 groups, each of two rules has its shards, and then the nodes change: some
// come, some go, some are others. The replicas and the standbys are those that a naive choice
// finds, before and after. Two zones of 3 and 1 nodes, and of 2 and 2, are among them.
TEST(Standbys, ReplicasAreThoseOfANaiveChoice) {
  std::mt19937_64 random(11);
  std::map<std::multiset<std::size_t>, int> seen;
  for (int round = 0; round < 2000; ++round) {
    PlacementRule first = RuleOfAllKinds(random);
    first.shards = {{0, 7}};
    Facts facts = UnevenFacts(random);
    Table table({first, RuleOfAllKinds(random)}, 16, facts);
    ExpectNaive(table, facts, std::to_string(round));
    std::map<std::string, std::size_t> zones;
    for (const auto& [id, fact] : facts) ++zones[fact.zone];
    std::multiset<std::size_t> sizes;
    for (const auto& [zone, nodes] : zones) sizes.insert(nodes);
    ++seen[sizes];
    Facts others = UnevenFacts(random);
    for (auto& [id, fact] : facts) {
      if (random() % 4 > 0) others[id] = fact;
    }
    table.Take(others);
    ExpectNaive(table, others, std::to_string(round) + " changed,");
    if (HasFatalFailure()) return;
  }
  EXPECT_GT((seen[{1, 3}]), 10);
  EXPECT_GT((seen[{2, 2}]), 10);
}

// Plan: rules and nodes change at random. After each change the table has what a new one has, and
// names each shard whose replicas changed.
TEST(Standbys, AChangedTableIsThatOfANewComputation) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    Table table(RandomRules(random), 20, RandomFacts(random));
    for (int step = 0; step < 40; ++step) {
      std::vector<std::vector<NodeId>> before;
      for (std::uint32_t s = 0; s < 20; ++s) {
        before.push_back(table.standbys.ReplicasOf(ShardId{s}));
      }
      if (random() % 4 == 0) table.rules.Set(RandomRules(random), 20);
      const Facts facts = RandomFacts(random);
      const std::vector<ShardId> changed = table.Take(facts);
      Standbys fresh;
      fresh.Update(table.rules, 20, Pointers(facts));
      for (std::uint32_t s = 0; s < 20; ++s) {
        const std::vector<NodeId> now = table.standbys.ReplicasOf(ShardId{s});
        ASSERT_EQ(now, fresh.ReplicasOf(ShardId{s})) << round << "." << step << " shard " << s;
        const bool named = std::binary_search(changed.begin(), changed.end(), ShardId{s});
        ASSERT_TRUE(named || now == before[s]) << round << "." << step << " shard " << s;
      }
    }
  }
}

// Plan: what the rule says holds for each shard.
TEST(Standbys, ReplicasKeepToTheRule) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 2000; ++round) {
    const Facts facts = RandomFacts(random);
    const Table table(RandomRules(random), 20, facts);
    for (std::uint32_t s = 0; s < 20; ++s) {
      const PlacementRule* rule = table.rules.Of(ShardId{s});
      const std::vector<NodeId> replicas = table.standbys.ReplicasOf(ShardId{s});
      if (rule == nullptr || rule->standbys == 0) {
        ASSERT_TRUE(replicas.empty());
        continue;
      }
      std::size_t allowed = 0;
      std::set<std::string> zones;
      for (const auto& [id, fact] : facts) {
        if (!fact.Fits(rule->require)) continue;
        ++allowed;
        zones.insert(fact.zone);
      }
      ASSERT_EQ(replicas.size(), std::min<std::size_t>(allowed, rule->standbys + 1));
      std::set<std::string> used;
      for (const NodeId& id : replicas) {
        ASSERT_TRUE(facts.at(id).Fits(rule->require));
        used.insert(facts.at(id).zone);
      }
      ASSERT_EQ(std::set(replicas.begin(), replicas.end()).size(), replicas.size());
      if (rule->spread.empty()) continue;
      ASSERT_EQ(used.size(), std::min(zones.size(), replicas.size()));
    }
  }
}

TEST(Standbys, PreferredNodesComeFirst) {
  PlacementRule rule = StandbyRule(2);
  rule.prefer = {{{"zone", {"b"}}}};
  const Facts facts = Zones(6);
  const Table table({rule}, 50, facts);
  for (std::uint32_t s = 0; s < 50; ++s) {
    const std::vector<NodeId> replicas = table.standbys.ReplicasOf(ShardId{s});
    EXPECT_EQ(facts.at(replicas[0]).zone, "b");
    EXPECT_EQ(facts.at(replicas[1]).zone, "b");
    EXPECT_NE(facts.at(replicas[2]).zone, "b");
  }
}

// Plan: any node leads, then any other. At most one node that did not stand by does so now. That
// may be the old leader: then no other one begins.
TEST(Standbys, AChangeOfLeaderMakesAtMostOneNodeBegin) {
  std::mt19937_64 random(9);
  int led_before = 0;
  for (int round = 0; round < 2000; ++round) {
    const Facts facts = RandomFacts(random);
    if (facts.size() < 2) continue;
    const Table table(RandomRules(random), 20, facts);
    const ShardId shard{static_cast<std::uint32_t>(random() % 20)};
    for (const auto& [first, first_fact] : facts) {
      const std::vector<NodeId> before = table.standbys.Of(shard, &first_fact);
      EXPECT_LE(before.size(), table.standbys.Wanted(shard));
      EXPECT_FALSE(table.standbys.StandsBy(shard, &first_fact, first));
      for (const auto& [second, second_fact] : facts) {
        int begun = 0;
        for (const NodeId& id : table.standbys.Of(shard, &second_fact)) {
          ASSERT_TRUE(table.standbys.StandsBy(shard, &second_fact, id));
          const bool stood = std::find(before.begin(), before.end(), id) != before.end();
          begun += stood ? 0 : 1;
          led_before += !stood && id == first ? 1 : 0;
        }
        ASSERT_LE(begun, 1) << shard.value;
      }
    }
  }
  EXPECT_GT(led_before, 1000);
}

// Which nodes stand by for each shard, if `leaders` lead them. An empty id: nobody leads.
std::vector<std::set<NodeId>> SeatsOf(const Table& table, const Facts& facts,
                                      const std::vector<NodeId>& leaders) {
  std::vector<std::set<NodeId>> seats;
  for (std::uint32_t s = 0; s < table.shards; ++s) {
    const auto leader = facts.find(leaders[s]);
    const std::vector<NodeId> nodes =
        table.standbys.Of(ShardId{s}, leader != facts.end() ? &leader->second : nullptr);
    seats.emplace_back(nodes.begin(), nodes.end());
  }
  return seats;
}

std::size_t SeatsOf(const NodeId& node, const std::vector<std::set<NodeId>>& seats) {
  return static_cast<std::size_t>(std::count_if(
      seats.begin(), seats.end(), [&](const auto& nodes) { return nodes.contains(node); }));
}

// How many seats of other nodes are in `after` and not in `before`.
std::size_t Begun(const std::vector<std::set<NodeId>>& before,
                  const std::vector<std::set<NodeId>>& after, const NodeId& except) {
  std::size_t begun = 0;
  for (std::size_t s = 0; s < after.size(); ++s) {
    for (const NodeId& id : after[s]) begun += id != except && !before[s].contains(id) ? 1 : 0;
  }
  return begun;
}

struct Churn {
  PlacementRule rule;
  bool led = false;  ///< all shards, in turn by the other nodes
};

// A node goes, and comes back. Others begin for it, few more than the seats that it has itself, and
// few of them change places when it is back. Then all is as it was. Returns how many seats it has.
std::size_t ExpectLittleChurn(const Facts& all, const NodeId& node, const Churn& churn) {
  Facts others = all;
  others.erase(node);
  std::vector<NodeId> leaders(kOfChurn);
  for (std::uint32_t s = 0; churn.led && s < kOfChurn; ++s) {
    leaders[s] = std::next(others.begin(), s % others.size())->first;
  }
  Table table({churn.rule}, kOfChurn, all);
  const std::vector<std::set<NodeId>> before = SeatsOf(table, all, leaders);
  table.Take(others);
  const std::vector<std::set<NodeId>> without = SeatsOf(table, others, leaders);
  table.Take(all);
  const std::vector<std::set<NodeId>> back = SeatsOf(table, all, leaders);
  const std::size_t own = SeatsOf(node, before);
  SCOPED_TRACE(node + " of " + std::to_string(all.size()) + ", standbys " +
               std::to_string(churn.rule.standbys) + churn.rule.spread +
               (churn.led ? " of leaders" : ""));
  EXPECT_LE(Begun(before, without, node) * 10, own * 12);
  EXPECT_TRUE(back == before);
  EXPECT_LE(Begun(without, back, node) * 10, own * 2);
  EXPECT_GE(Begun(before, without, node), own * 9 / 10);
  return own;
}

std::vector<Churn> Churns() {
  std::vector<Churn> churns;
  for (const char* const spread : {"", "zone"}) {
    for (const std::uint32_t standbys : {1u, 2u, 3u}) {
      for (const bool led : {false, true}) churns.push_back({StandbyRule(standbys, spread), led});
    }
  }
  return churns;
}

// Plan: a node goes, and comes back. Of the replicas, and of the standbys of shards that other
// nodes lead, not many more seats change than it has itself: others begin for it, and end when it
// is back. Then all is as it was.
TEST(Standbys, ANodeThatComesOrGoesChangesLittleMoreThanItsShare) {
  for (const int nodes : {5, 9, 30}) {
    for (const Churn& churn : Churns()) {
      EXPECT_GT(ExpectLittleChurn(Zones(nodes), "n104", churn),
                kOfChurn * churn.rule.standbys / static_cast<std::uint32_t>(nodes) / 2);
    }
  }
}

// Plan: the same for each node of groups with weights of 1 to 9, and with a zone of 6 nodes and a
// zone of 1, also by rules that prefer or require a zone. The node's own share may be all shards.
TEST(Standbys, ANodeAmongUnequalOnesChangesLittleMoreThanItsShare) {
  Facts weighted = Zones(9);
  std::uint32_t next = 0;
  for (auto& [id, fact] : weighted) fact.weight = 1 + next++ % 5 * 2;
  Facts uneven = Zones(7, 1);
  uneven["n100"].zone = "b";
  for (const Facts& all : {weighted, uneven}) {
    for (Churn churn : Churns()) {
      for (const auto& [node, fact] : all) ExpectLittleChurn(all, node, churn);
      for (const NodeId& node : {all.begin()->first, all.rbegin()->first}) {
        churn.rule.prefer = {{{"zone", {"b"}}}};
        ExpectLittleChurn(all, node, churn);
        churn.rule.prefer.clear();
        churn.rule.require = {{"zone", {"a", "b"}}};
        ExpectLittleChurn(all, node, churn);
        churn.rule.require.clear();
      }
    }
  }
}

TEST(Standbys, SharesFollowTheWeights) {
  Facts facts;
  for (const std::uint32_t weight : {1u, 2u, 4u}) {
    for (int i = 0; i < 4; ++i) {
      const NodeId id = "w" + std::to_string(weight) + "-" + std::to_string(i);
      facts[id] = NodeWith(id, "a", weight);
    }
  }
  constexpr std::uint32_t kMany = 20'000;
  const Table table({StandbyRule(1)}, kMany, facts);
  std::map<std::uint32_t, double> first;
  for (std::uint32_t s = 0; s < kMany; ++s) {
    first[facts.at(table.standbys.ReplicasOf(ShardId{s}).front()).weight] += 1.0 / kMany;
  }
  EXPECT_NEAR(first[1], 1.0 / 7, 0.01);
  EXPECT_NEAR(first[2], 2.0 / 7, 0.015);
  EXPECT_NEAR(first[4], 4.0 / 7, 0.015);
}

// Plan: rules come before a rule, and it gets other shards. Only the shards for which another rule
// counts now are chosen again.
TEST(Standbys, ARuleWithAnotherNumberChangesNothing) {
  const Facts facts = Zones(12);
  Table table({StandbyRule(2, "zone")}, 50, facts);
  PlacementRule pin;
  pin.shards = {{5, 5}};
  pin.require = {{"node", {"n100"}}};
  table.rules.Set({pin, StandbyRule(2, "zone")}, 50);
  EXPECT_EQ(table.Take(facts), std::vector{ShardId{5}});
  EXPECT_TRUE(table.standbys.settled());
  PlacementRule named = StandbyRule(2, "zone");
  named.shards = {{0, 4}, {6, 48}};
  table.rules.Set({pin, named}, 50);
  EXPECT_EQ(table.Take(facts), std::vector{ShardId{49}});
  EXPECT_EQ(table.standbys.ReplicasOf(ShardId{6}).size(), 3u);
  Facts fewer = facts;
  fewer.erase("n103");
  table.Take(fewer);
  Standbys fresh;
  fresh.Update(table.rules, 50, Pointers(fewer));
  for (std::uint32_t s = 0; s < 50; ++s) {
    EXPECT_EQ(table.standbys.ReplicasOf(ShardId{s}), fresh.ReplicasOf(ShardId{s})) << s;
  }
}

// Plan: rules and nodes change at random, while few shards are chosen at once, so that most changes
// meet shards that wait. Each shard that waits keeps replicas that its rule allows. In the end the
// table has what a new one has, and each change was named.
TEST(Standbys, AChoiceInManyStepsIsThatOfOneStep) {
  std::mt19937_64 random(10);
  for (int round = 0; round < 100; ++round) {
    Table table(RandomRules(random), 20, RandomFacts(random));
    std::vector<std::vector<NodeId>> shown(20);
    for (std::uint32_t s = 0; s < 20; ++s) shown[s] = table.standbys.ReplicasOf(ShardId{s});
    const auto follow = [&](const std::vector<ShardId>& changed, const Facts& facts) {
      for (const ShardId shard : changed) {
        shown[shard.value] = table.standbys.ReplicasOf(shard);
      }
      for (std::uint32_t s = 0; s < 20; ++s) {
        const PlacementRule* rule = table.rules.Of(ShardId{s});
        ASSERT_EQ(shown[s], table.standbys.ReplicasOf(ShardId{s})) << round << " shard " << s;
        ASSERT_LE(shown[s].size(), rule == nullptr || rule->standbys == 0 ? 0 : rule->standbys + 1);
        for (const NodeId& id : shown[s]) ASSERT_TRUE(facts.at(id).Fits(rule->require));
      }
    };
    Facts facts;
    for (int step = 0; step < 10; ++step) {
      if (random() % 3 == 0) table.rules.Set(RandomRules(random), 20);
      facts = RandomFacts(random);
      follow(table.Take(facts, random() % 60), facts);
    }
    while (!table.standbys.settled()) follow(table.standbys.Continue(1), facts);
    Standbys fresh;
    fresh.Update(table.rules, 20, Pointers(facts));
    for (std::uint32_t s = 0; s < 20; ++s) ASSERT_EQ(shown[s], fresh.ReplicasOf(ShardId{s}));
  }
}

// Nodes of different versions must agree on the replicas, so these stay as they are.
TEST(Standbys, TheChoiceIsThatOfEarlierVersions) {
  PlacementRule preferring = StandbyRule(3);
  preferring.prefer = {{{"zone", {"b"}}}};
  Facts weighted = Zones(30);
  std::uint32_t weight = 0;
  for (auto& [id, fact] : weighted) fact.weight = 1 + weight++ % 7 * 100;
  const auto sum_of = [](const PlacementRule& rule, const Facts& facts) {
    std::uint64_t sum = 14695981039346656037ull;
    const Table table({rule}, 500, facts);
    for (std::uint32_t s = 0; s < 500; ++s) {
      for (const NodeId& id : table.standbys.ReplicasOf(ShardId{s})) {
        for (const char c : id) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211ull;
      }
    }
    return sum;
  };
  EXPECT_EQ(sum_of(StandbyRule(2), Zones(30)), 0x391eb5e301dc9dd9ull);
  EXPECT_EQ(sum_of(StandbyRule(3, "zone"), Zones(30)), 0x1bec25736663ad5dull);
  EXPECT_EQ(sum_of(StandbyRule(2), weighted), 0x3e8380cc3d0eb23eull);
  EXPECT_EQ(sum_of(StandbyRule(4, "zone"), weighted), 0x144bfed56c14d8b4ull);
  EXPECT_EQ(sum_of(preferring, weighted), 0xa6605fe386feeac9ull);
}

// Plan: a node reads a large group. The turn that merges so many records chooses few standbys or
// none, and so does the rest of that turn; later turns choose all.
TEST(Standbys, OfALargeGroupAreChosenAfterItsFirstRead) {
  constexpr std::uint32_t kMany = 81'000;
  View view(kMany, "n100");
  Snapshot snapshot{.revision = Revision{9}, .facts = {}};
  ConfigFact config;
  config.present = true;
  config.revision = Revision{2};
  config.shards = kMany;
  config.placement = {StandbyRule(1)};
  snapshot.facts.emplace_back(config);
  for (auto& [id, member] : Zones(2)) {
    member.present = true;
    member.revision = Revision{3};
    member.lease = member.session = SessionId{7};
    snapshot.facts.emplace_back(member);
  }
  for (std::uint32_t s = 0; s < kMany; ++s) {
    ShardRecordFact fact{.shard = ShardId{s}, .record = {}};
    fact.record.present = true;
    fact.record.revision = Revision{4};
    snapshot.facts.emplace_back(fact);
  }
  view.Merge(snapshot, TimePoint{});
  EXPECT_TRUE(view.ContinueStandbys());
  EXPECT_TRUE(view.standbys().ReplicasOf(ShardId{0}).empty());
  while (view.ContinueStandbys()) continue;
  EXPECT_EQ(view.standbys().ReplicasOf(ShardId{kMany - 1}).size(), 2u);
}

// Plan: zone a has one node, zone b six, and a rule wants leader and standby in different zones.
// The shards of a dead leader of zone b all go to the one node. With two standbys, there are not
// enough zones to keep them apart, and all nodes get their part.
TEST(Standbys, ASmallZoneTakesOverAllThatSpreadKeepsOutOfTheLargeOne) {
  Facts facts = {{"n0", NodeWith("n0", "a")}};
  for (const char* const id : {"n1", "n2", "n3", "n4", "n5", "n6"}) facts[id] = NodeWith(id, "b");
  const MemberFact dead = facts.at("n1");
  for (const std::uint32_t standbys : {1u, 2u}) {
    constexpr std::uint32_t kMany = 600;
    Table table({StandbyRule(standbys, "zone")}, kMany, facts);
    std::vector<std::vector<NodeId>> ready;
    for (std::uint32_t s = 0; s < kMany; ++s) {
      ready.push_back(table.standbys.Of(ShardId{s}, &dead));
    }
    Facts rest = facts;
    rest.erase(dead.node);
    table.Take(rest);
    std::uint32_t to_small_zone = 0;
    for (std::uint32_t s = 0; s < kMany; ++s) {
      const std::vector<NodeId> order = table.standbys.Of(ShardId{s}, nullptr);
      const auto first =
          std::find_first_of(order.begin(), order.end(), ready[s].begin(), ready[s].end());
      ASSERT_NE(first, order.end()) << "the ready standbys stay replicas";
      to_small_zone += *first == "n0" ? 1 : 0;
    }
    if (standbys == 1) {
      EXPECT_EQ(to_small_zone, kMany);
    } else {
      EXPECT_LT(to_small_zone, kMany / 4);
    }
  }
}

}  // namespace
}  // namespace baton::core
