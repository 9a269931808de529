// How much a member's coming or going changes who stands by, over random groups of all kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/drawn_nodes.h"
#include "core/standbys.h"

namespace baton::core {
namespace {

constexpr std::uint32_t kShards = 1000;
constexpr std::size_t kFewest = 20;  // standbys, of a member that says something

/// The nodes that lead.
enum class Leaders : std::uint8_t {
  kWanted,  ///< the rule's: so it is once balance has moved the shards
  kAllowed,
};

struct DrawnGroup {
  Facts nodes;
  Placement rules;
  Leaders leaders{};
  NodeId member;  ///< which goes, and comes back
};

template <typename Values>
auto Even(std::mt19937_64& random, const Values& values) {
  return values[random() % values.size()];
}

Facts DrawNodes(std::mt19937_64& random) {
  Facts facts;
  const std::size_t nodes = 2 + random() % (random() % 4 == 0 ? 40 : 14);
  const bool even = random() % 2 == 0;
  const std::vector<std::string> zones = {"a", "b", "c", ""};
  const std::uint32_t heaviest = Even(random, std::array{1u, 1u, 9u, 1000u});
  while (facts.size() < nodes) {
    MemberFact fact;
    fact.node = "n" + std::to_string(random() % 200);
    fact.zone = even ? Even(random, zones) : Uneven(random, zones);
    fact.weight = 1 + static_cast<std::uint32_t>(random() % heaviest);
    if (random() % 2 == 0) fact.labels["disk"] = Uneven(random, {"ssd", "nvme"});
    if (random() % 3 > 0) fact.labels["rack"] = Uneven(random, {"r1", "r2", "r3", "r4", "r5"});
    facts[fact.node] = fact;
  }
  return facts;
}

PlacementRule DrawRule(std::mt19937_64& random) {
  PlacementRule rule;
  rule.standbys = static_cast<std::uint32_t>(random() % 4);
  if (rule.standbys > 0) rule.spread = Uneven(random, {"zone", "", "rack", "disk", "node"});
  if (random() % 3 == 0) rule.require = {{"zone", {"a", "b"}}};
  if (random() % 3 == 0) rule.prefer.push_back({{"disk", {Uneven(random, {"ssd", "nvme"})}}});
  if (random() % 3 == 0) rule.prefer.push_back({{"zone", {"b", ""}}});
  return rule;
}

// Half of the groups have a pin: one node for some of the shards.
DrawnGroup DrawGroup(std::mt19937_64& random) {
  DrawnGroup group;
  group.nodes = DrawNodes(random);
  const auto any = [&] { return std::next(group.nodes.begin(), random() % group.nodes.size()); };
  if (random() % 2 == 0) {
    PlacementRule pin;
    pin.shards = {{0, 49}};
    pin.require = {{"node", {any()->first}}};
    pin.standbys = static_cast<std::uint32_t>(random() % 4);
    group.rules.push_back(pin);
  }
  if (random() % 3 == 0) {
    group.rules.push_back(DrawRule(random));
    group.rules.back().shards = {{100, 399}};
  }
  group.rules.push_back(DrawRule(random));
  group.leaders = random() % 2 == 0 ? Leaders::kWanted : Leaders::kAllowed;
  group.member = any()->first;
  return group;
}

// Null: no node may lead the shard.
const MemberFact* DrawLeader(std::mt19937_64& random, const DrawnGroup& group,
                             const PlacementRule& rule) {
  std::vector<const MemberFact*> may = Pointers(group.nodes);
  std::erase_if(may, [&](const MemberFact* node) { return !node->Fits(rule.require); });
  for (std::size_t p = 0; group.leaders == Leaders::kWanted && p < rule.prefer.size(); ++p) {
    std::vector<const MemberFact*> wanted = may;
    std::erase_if(wanted, [&](const MemberFact* node) { return !node->Fits(rule.prefer[p]); });
    if (wanted.empty()) continue;
    may = wanted;
    break;
  }
  if (may.empty()) return nullptr;
  std::uint64_t weights = 0;
  for (const MemberFact* node : may) weights += node->weight;
  std::uint64_t drawn = random() % weights;
  for (const MemberFact* node : may) {
    if (drawn < node->weight) return node;
    drawn -= node->weight;
  }
  return nullptr;  // not reached
}

/// Of all shards.
struct ChangedStandbys {
  std::size_t led = 0;         ///< shards that the member leads
  std::size_t own = 0;         ///< its standbys
  std::size_t begun = 0;       ///< when it goes, elsewhere; without the shards that it led
  std::size_t own_back = 0;    ///< its standbys when it is back, and leads nothing
  std::size_t begun_back = 0;  ///< then, its own and elsewhere
};

class Comparison {
 public:
  explicit Comparison(const DrawnGroup& group) : group_(group), others_(group.nodes) {
    others_.erase(group.member);
    rules_.Set(group.rules, kShards);
    with_.Update(rules_, kShards, Pointers(group.nodes));
    without_.Update(rules_, kShards, Pointers(others_));
  }

  ChangedStandbys Count(std::mt19937_64& random) {
    ChangedStandbys churn;
    for (std::uint32_t s = 0; s < kShards; ++s) {
      const ShardId shard{s};
      const MemberFact* const leader = DrawLeader(random, group_, *rules_.Of(shard));
      if (leader == nullptr) continue;
      const bool died = leader->node == group_.member;
      const std::set<NodeId> before = Set(with_.Of(shard, leader));
      const MemberFact* const next = died ? Heir(shard, before) : leader;
      const std::set<NodeId> without = Set(without_.Of(shard, next));
      const std::set<NodeId> back = Set(with_.Of(shard, next));
      churn.led += died ? 1 : 0;
      churn.own += before.contains(group_.member) ? 1 : 0;
      churn.own_back += back.contains(group_.member) ? 1 : 0;
      churn.begun_back += Begun(without, back);
      if (died) {
        EXPECT_LE(Begun(before, without), 1u) << s;
      } else {
        churn.begun += Begun(before, without);
      }
    }
    return churn;
  }

 private:
  static std::set<NodeId> Set(const std::vector<NodeId>& nodes) {
    return {nodes.begin(), nodes.end()};
  }
  static std::size_t Begun(const std::set<NodeId>& before, const std::set<NodeId>& after) {
    return static_cast<std::size_t>(std::count_if(
        after.begin(), after.end(), [&](const NodeId& node) { return !before.contains(node); }));
  }
  // The first of the dead leader's standbys. Null: it had none.
  const MemberFact* Heir(ShardId shard, const std::set<NodeId>& standbys) const {
    for (const NodeId& node : without_.ReplicasOf(shard)) {
      if (standbys.contains(node)) return &others_.at(node);
    }
    return nullptr;
  }

  const DrawnGroup& group_;
  Facts others_;
  ShardRules rules_;
  Standbys with_;
  Standbys without_;
};

// Plan: 2,000 groups with weights, zones of all sizes, preferences, requirements, pins, and 0 to 3
// standbys. A member goes: no more standbys begin elsewhere than it had. Of the shards that it led,
// its heir is no standby any more, and one other may begin. It comes back, and leads nothing: none
// but its own standbys begin.
TEST(StandbysChurn, AMemberThatComesOrGoesChangesItsOwnShareAlone) {
  std::mt19937_64 random(16);
  int judged = 0;
  int leaders = 0;
  for (int round = 0; round < 2000 / BATON_FEWER_SEEDS && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const DrawnGroup group = DrawGroup(random);
    const ChangedStandbys churn = Comparison(group).Count(random);
    EXPECT_LE(churn.begun, churn.own);
    EXPECT_EQ(churn.begun_back, churn.own_back);
    judged += churn.own >= kFewest ? 1 : 0;
    leaders += churn.led > 0 && churn.own >= kFewest ? 1 : 0;
  }
  EXPECT_GT(judged, 800 / BATON_FEWER_SEEDS);
  EXPECT_GT(leaders, 400 / BATON_FEWER_SEEDS);
}

// Plan: all nodes of zone a but two fit the first preference of the rule, and one of these two
// leads. Another node of zone a goes. Its standbys go elsewhere, and no other ones begin.
TEST(StandbysChurn, ALeaderThatTheRuleDoesNotPreferMakesNoStandbysChangePlaces) {
  Facts all;
  const auto add = [&](const NodeId& id, const std::string& zone, const std::string& disk) {
    all[id].node = id;
    all[id].zone = zone;
    if (!disk.empty()) all[id].labels["disk"] = disk;
  };
  for (const char* const id : {"n1", "n2"}) add(id, "a", "");
  for (const char* const id : {"n3", "n4"}) add(id, "a", "ssd");
  for (const char* const id : {"n5", "n6"}) add(id, "b", "");
  PlacementRule rule;
  rule.standbys = 2;
  rule.spread = "zone";
  rule.prefer = {{{"disk", {"ssd"}}}, {{"zone", {"b"}}}};
  ShardRules rules;
  rules.Set({rule}, kShards);
  Standbys standbys;
  standbys.Update(rules, kShards, Pointers(all));
  std::vector<std::vector<NodeId>> before;
  for (std::uint32_t s = 0; s < kShards; ++s) {
    before.push_back(standbys.Of(ShardId{s}, &all.at("n1")));
  }
  const MemberFact leader = all.at("n1");
  all.erase("n4");
  standbys.Update(rules, kShards, Pointers(all));
  for (std::uint32_t s = 0; s < kShards; ++s) {
    for (const NodeId& node : before[s]) {
      EXPECT_EQ(standbys.StandsBy(ShardId{s}, &leader, node), node != "n4") << s << " " << node;
    }
  }
}

}  // namespace
}  // namespace baton::core
