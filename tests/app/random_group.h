// Random groups for oracles: nodes with labels, shards, leaders, rules and standbys. The seed
// decides everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/group_status.h"
#include "base/placement.h"
#include "runtime/control.h"

namespace baton::app {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// From 0 to `sides` - 1.
  std::uint32_t Roll(std::uint32_t sides) { return static_cast<std::uint32_t>(engine_() % sides); }
  bool OneIn(std::uint32_t sides) { return Roll(sides) == 0; }
  std::string OneOf(const std::vector<std::string>& words) {
    return words[Roll(static_cast<std::uint32_t>(words.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

inline runtime::MemberStatus RandomNode(Random& random, std::uint32_t number, bool equal_weights) {
  runtime::MemberStatus node =
      LiveNode("n" + std::to_string(number), random.OneOf({"a", "b", "c", ""}));
  const std::string disk = random.OneOf({"ssd", "hdd", ""});
  if (!disk.empty()) node.fact.labels["disk"] = disk;
  if (!equal_weights) node.fact.weight = random.Roll(5);
  if (random.OneIn(8)) node.fact.state = MemberState::kDraining;
  if (random.OneIn(12)) node.drained_by_policy = true;
  if (random.OneIn(12)) node.fact.present = false;
  return node;
}

inline LabelTerm RandomTerm(Random& random, const std::string& label) {
  const std::vector<std::string> values =
      label == "zone"   ? std::vector<std::string>{"a", "b", "c"}
      : label == "disk" ? std::vector<std::string>{"ssd", "hdd"}
                        : std::vector<std::string>{"n0", "n1", "n2", "n3", "n9"};
  std::set<std::string> some{random.OneOf(values)};
  if (random.OneIn(3)) some.insert(random.OneOf(values));
  return {.label = label, .values = {some.begin(), some.end()}};
}

inline LabelTerms RandomTerms(Random& random) {
  LabelTerms terms{RandomTerm(random, random.OneOf({"zone", "zone", "disk", "node"}))};
  if (terms[0].label == "zone" && random.OneIn(4)) terms.push_back(RandomTerm(random, "disk"));
  return terms;
}

inline PlacementRule RandomRule(Random& random) {
  PlacementRule rule;
  for (std::uint32_t ranges = random.Roll(3); ranges > 0; --ranges) {
    const std::uint32_t first = random.Roll(26);
    rule.shards.push_back({first, first + random.Roll(12)});
  }
  if (random.OneIn(2)) rule.require = RandomTerms(random);
  for (std::uint32_t prefer = random.Roll(4); prefer > 0; --prefer) {
    rule.prefer.push_back(RandomTerms(random));
  }
  return rule;
}

// Some shards that nobody leads wait.
inline void LetSomeWait(Random& random, runtime::NodeStatus& status) {
  for (runtime::ShardStatus& shard : status.shards) {
    if (!shard.leader.empty() || !random.OneIn(3)) continue;
    const bool kept = status.failover.policy != FailoverPolicy::kImmediate && random.OneIn(2);
    if (kept) {
      shard.waits_for = "n" + std::to_string(random.Roll(8));
    } else if (random.OneIn(2)) {
      shard.quarantined = true;
    } else {
      shard.claims_wait = std::chrono::seconds(3);
    }
  }
}

inline runtime::NodeStatus RandomStatus(Random& random) {
  std::vector<runtime::MemberStatus> nodes;
  const bool equal_weights = !random.OneIn(3);
  const std::uint32_t count = 1 + random.Roll(8);
  for (std::uint32_t n = 0; n < count; ++n) {
    nodes.push_back(RandomNode(random, n, equal_weights));
  }
  std::shuffle(nodes.begin(), nodes.end(), std::mt19937(random.Roll(1000)));
  std::vector<NodeId> leaders;
  const std::uint32_t shards = 1 + random.Roll(30);
  const std::uint32_t vacant = 2 + random.Roll(20);
  for (std::uint32_t s = 0; s < shards; ++s) {
    const runtime::MemberStatus& leader = nodes[random.Roll(count)];
    const bool nobody = random.OneIn(vacant) || !leader.fact.present;
    leaders.push_back(nobody ? "" : leader.fact.node);
  }
  runtime::NodeStatus status = StatusOf(nodes, leaders);
  for (std::uint32_t rules = random.Roll(5); rules > 0; --rules) {
    status.placement.push_back(RandomRule(random));
  }
  if (random.OneIn(4)) status.failover.policy = FailoverPolicy::kNever;
  if (random.OneIn(6)) status.failover.policy = FailoverPolicy::kAfter;
  if (random.OneIn(3)) LetSomeWait(random, status);
  return status;
}

// Some rules ask for standbys, and some nodes say that they are ready for shards: now and then also
// nodes that are no standbys, or that are gone.
inline void AddStandbys(Random& random, runtime::NodeStatus& status) {
  for (PlacementRule& rule : status.placement) {
    if (random.OneIn(2)) continue;
    rule.standbys = 1 + random.Roll(3);
    rule.spread = random.OneOf({"", "zone", "disk"});
  }
  for (runtime::ShardStatus& shard : status.shards) {
    std::vector<runtime::StandbyStatus> standbys;
    for (const runtime::MemberStatus& member : status.members) {
      if (member.fact.node == shard.leader || random.OneIn(2)) continue;
      standbys.push_back({.node = member.fact.node, .address = "", .ready = random.OneIn(2)});
    }
    if (standbys.empty()) continue;
    shard.standbys =
        std::make_shared<const std::vector<runtime::StandbyStatus>>(std::move(standbys));
  }
}

// One or two labels that live nodes have; none if no node lives.
inline std::vector<LabelTerm> RandomWithout(Random& random, const runtime::NodeStatus& status) {
  std::vector<LabelTerm> known;
  for (const runtime::MemberStatus& member : status.members) {
    if (!member.fact.present) continue;
    known.push_back({"node", {member.fact.node}});
    if (!member.fact.zone.empty()) known.push_back({"zone", {member.fact.zone}});
    for (const auto& [name, value] : member.fact.labels) known.push_back({name, {value}});
  }
  std::vector<LabelTerm> without;
  for (std::uint32_t i = 1 + random.Roll(2); i > 0 && !known.empty(); --i) {
    without.push_back(known[random.Roll(static_cast<std::uint32_t>(known.size()))]);
  }
  return without;
}

}  // namespace baton::app
