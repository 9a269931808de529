// Which nodes stand by for which shards: compared with a plain computation over random groups, and
// by properties.
#include "core/standbys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace baton::core {
namespace {

using Facts = std::map<NodeId, MemberFact>;

MemberFact NodeWith(const NodeId& id, const std::string& zone, std::uint32_t weight = 1) {
  MemberFact fact;
  fact.node = id;
  fact.zone = zone;
  fact.weight = weight;
  return fact;
}

std::vector<const MemberFact*> Pointers(const Facts& facts) {
  std::vector<const MemberFact*> pointers;
  for (const auto& [id, fact] : facts) pointers.push_back(&fact);
  return pointers;
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
  std::vector<ShardId> Take(const Facts& facts) {
    return standbys.Update(rules, shards, Pointers(facts));
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

// Plan: any node leads, then any other. At most one node that did not stand by does so now, unless
// it led before.
TEST(Standbys, AChangeOfLeaderMakesAtMostOneNodeBegin) {
  std::mt19937_64 random(9);
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
          begun += !stood && id != first ? 1 : 0;
        }
        ASSERT_LE(begun, 1) << shard.value;
      }
    }
  }
}

// Plan: a node goes or comes. Not many more seats change than it has itself.
TEST(Standbys, ANodeThatComesOrGoesChangesLittleMoreThanItsShare) {
  constexpr std::uint32_t kMany = 3000;
  for (const char* const spread : {"", "zone"}) {
    for (const int nodes : {9, 30}) {
      for (const std::uint32_t standbys : {1u, 2u, 3u}) {
        Facts facts = Zones(nodes);
        Table table({StandbyRule(standbys, spread)}, kMany, facts);
        std::vector<std::set<NodeId>> before;
        std::size_t own = 0;
        for (std::uint32_t s = 0; s < kMany; ++s) {
          const std::vector<NodeId> replicas = table.standbys.ReplicasOf(ShardId{s});
          before.emplace_back(replicas.begin(), replicas.end());
          own += before.back().count("n104");
        }
        facts.erase("n104");
        table.Take(facts);
        std::size_t begun = 0;
        for (std::uint32_t s = 0; s < kMany; ++s) {
          for (const NodeId& id : table.standbys.ReplicasOf(ShardId{s})) {
            begun += before[s].contains(id) ? 0 : 1;
          }
        }
        EXPECT_GE(begun, own * 9 / 10) << nodes << " " << standbys << spread;
        EXPECT_LE(begun * 10, own * 16) << nodes << " " << standbys << spread;
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

}  // namespace
}  // namespace baton::core
