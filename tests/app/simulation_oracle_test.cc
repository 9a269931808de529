// The simulation of `rebalance simulate` against an oracle, on random groups.
//
// The oracle is written from docs/placement.md, by brute force: it goes through all nodes for each
// shard, and shares no code with core/pools.h, core/assignment.h and core/standbys.h; the order of
// a shard's standbys comes from tests/core/naive_replicas.h. A failure names the seed, which
// determines the case.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "app/ctl/simulation.h"
#include "app/group_status.h"
#include "app/random_group.h"
#include "core/naive_replicas.h"

namespace baton::app {
namespace {

using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;
using Nodes = std::set<NodeId>;

constexpr std::uint64_t kCases = 10'000;

// --- The oracle: what docs/placement.md says.

std::string LabelOf(const MemberFact& node, const std::string& label) {
  if (label == "node") return node.node;
  if (label == "zone") return node.zone;
  const auto found = node.labels.find(label);
  return found == node.labels.end() ? "" : found->second;
}

// The node must have each of the labels, with one of the values.
bool HasAll(const MemberFact& node, const LabelTerms& terms) {
  for (const LabelTerm& term : terms) {
    bool has = false;
    for (const std::string& value : term.values) has = has || LabelOf(node, term.label) == value;
    if (!has) return false;
  }
  return true;
}

// The first rule that names a shard counts for it.
const PlacementRule* RuleOf(const Placement& placement, std::uint32_t shard) {
  for (const PlacementRule& rule : placement) {
    if (rule.shards.empty()) return &rule;
    for (const ShardRange& range : rule.shards) {
      if (range.first <= shard && shard <= range.last) return &rule;
    }
  }
  return nullptr;
}

class Oracle {
 public:
  Oracle(const NodeStatus& status, const std::vector<LabelTerm>& without) : status_(status) {
    for (const MemberStatus& member : status.members) {
      if (!member.fact.present) continue;
      bool lost = false;
      for (const LabelTerm& term : without) lost = lost || HasAll(member.fact, {term});
      (lost ? lost_ : left_)[member.fact.node] = &member;
    }
    for (const ShardStatus& shard : status.shards) leaders_.push_back(LeaderLeft(shard));
    for (const auto& [id, node] : left_) {
      if (node->fact.weight > 0 && !Drains(*node)) stay_.push_back(&node->fact);
    }
  }

  void Judge(const Simulation& simulation) {
    JudgeClaims(simulation);
    held_ = leaders_;
    JudgeMoves(simulation);
    ASSERT_EQ(leaders_, simulation.forecast.leaders);
    JudgeEnds(simulation);
    JudgePools();
    JudgeCounts(simulation);
  }

  const std::vector<NodeId>& leaders() const { return leaders_; }
  const std::map<NodeId, const MemberStatus*>& left() const { return left_; }

 private:
  // The rules' verdict on the nodes for one shard.
  struct Choice {
    Nodes best;          ///< the nodes that should lead it; empty: nobody may
    Nodes forbidden;     ///< of the nodes that are left
    bool drain = false;  ///< all of `best` drain
    friend bool operator<(const Choice& a, const Choice& b) {
      return std::tie(a.best, a.forbidden) < std::tie(b.best, b.forbidden);
    }
  };
  struct Group {
    std::vector<std::uint32_t> shards;
    bool fills_up = false;  ///< the shards that any node may lead
  };

  static bool Drains(const MemberStatus& node) {
    return node.drained_by_policy || node.fact.state == MemberState::kDraining;
  }

  NodeId LeaderLeft(const ShardStatus& shard) const {
    return left_.contains(shard.leader) ? shard.leader : "";
  }

  // Of the nodes that may lead, those that don't drain come first; then the order of preference.
  Choice ChoiceFor(std::uint32_t shard) const {
    const PlacementRule* rule = RuleOf(status_.placement, shard);
    return ChoiceBy(rule == nullptr ? PlacementRule{} : *rule);
  }
  Choice ChoiceBy(const PlacementRule& rule) const {
    Choice choice;
    Nodes stay;
    Nodes drain;
    for (const auto& [id, node] : left_) {
      if (!HasAll(node->fact, rule.require)) {
        choice.forbidden.insert(id);
      } else if (node->fact.weight > 0) {
        (Drains(*node) ? drain : stay).insert(id);
      }
    }
    choice.drain = stay.empty();
    const Nodes& may = choice.drain ? drain : stay;
    for (const LabelTerms& preference : rule.prefer) {
      for (const NodeId& id : may) {
        if (HasAll(left_.at(id)->fact, preference)) choice.best.insert(id);
      }
      if (!choice.best.empty()) return choice;
    }
    choice.best = may;
    return choice;
  }

  // The status waits for the node that led the shard, with failover=never.
  bool KeptForever(std::uint32_t shard) const {
    const ShardStatus& now = status_.shards[shard];
    return status_.failover.policy == FailoverPolicy::kNever &&
           (lost_.contains(now.leader) || (now.leader.empty() && !now.waits_for.empty()));
  }
  // Nobody leads it, and nobody may claim it.
  bool Waits(std::uint32_t shard) const {
    const ShardStatus& now = status_.shards[shard];
    if (left_.contains(now.leader)) return false;
    if (lost_.contains(now.leader)) return status_.failover.policy == FailoverPolicy::kNever;
    return now.quarantined || now.claims_wait.count() > 0 || !now.waits_for.empty();
  }

  // Its leader stops, and the failover policy keeps the shard for it: it is not moved.
  bool Stays(std::uint32_t shard) const {
    const auto leader = left_.find(status_.shards[shard].leader);
    return leader != left_.end() && status_.failover.policy != FailoverPolicy::kImmediate &&
           leader->second->fact.state == MemberState::kDraining &&
           !leader->second->fact.unhealthy && !leader->second->drained_by_policy;
  }

  // The first of the vacancy's standbys that says it is ready; empty: none does.
  NodeId FirstReady(std::uint32_t shard) const {
    const auto& said = status_.shards[shard].standbys;
    if (said == nullptr) return "";
    const PlacementRule* const rule = RuleOf(status_.placement, shard);
    for (const NodeId& node : core::NaiveReplicas(rule, ShardId{shard}, stay_)) {
      for (const runtime::StandbyStatus& standby : *said) {
        if (standby.node == node && standby.ready) return node;
      }
    }
    return "";
  }

  // The rule makes a difference if it wants other nodes than no rule would, or forbids some. Its
  // requirement decides if no preference does.
  CauseKind WhyClaimed(std::uint32_t shard, const NodeId& to) const {
    if (FirstReady(shard) == to) return CauseKind::kReadyStandby;
    const Choice choice = ChoiceFor(shard);
    if (choice.best == ChoiceBy({}).best && choice.forbidden.empty()) return CauseKind::kHasRoom;
    for (const LabelTerms& preference : RuleOf(status_.placement, shard)->prefer) {
      if (HasAll(left_.at(to)->fact, preference)) return CauseKind::kRulePrefers;
    }
    return CauseKind::kRuleRequires;
  }
  // A node of weight 0 gives everything away, whatever the rules prefer.
  CauseKind WhyMoved(const NodeId& from, const Choice& choice) const {
    if (choice.forbidden.contains(from)) return CauseKind::kRuleForbids;
    if (Drains(*left_.at(from))) return CauseKind::kDrain;
    const bool wanted = choice.best.contains(from) || WeightOf(from) == 0;
    return wanted ? CauseKind::kBalance : CauseKind::kRulePrefers;
  }

  // A vacancy is claimed exactly if a node that is left may lead it: by its first ready standby, or
  // else by one of the best nodes.
  void JudgeClaims(const Simulation& simulation) {
    std::map<std::uint32_t, NodeId> claims;
    std::map<std::uint32_t, CauseKind> whys;
    std::size_t ready = 0;
    for (const ClaimForecast& claim : simulation.forecast.claims) {
      EXPECT_TRUE(claims.emplace(claim.shard.value, claim.to).second) << "claimed twice";
      whys[claim.shard.value] = claim.why;
      EXPECT_EQ(claim.ready(), !FirstReady(claim.shard.value).empty());
      ready += claim.ready() ? 1 : 0;
    }
    EXPECT_EQ(simulation.by_ready_standbys.value_or(0), ready);
    for (std::uint32_t s = 0; s < leaders_.size(); ++s) {
      SCOPED_TRACE("shard " + std::to_string(s));
      const bool vacant = leaders_[s].empty() && !Waits(s);
      const Choice choice = ChoiceFor(s);
      ASSERT_EQ(claims.contains(s), vacant && !choice.best.empty());
      if (!claims.contains(s)) continue;
      const NodeId standby = FirstReady(s);
      if (standby.empty()) {
        EXPECT_TRUE(choice.best.contains(claims[s])) << claims[s];
      } else {
        EXPECT_EQ(claims[s], standby);
        EXPECT_FALSE(choice.forbidden.contains(standby));
      }
      EXPECT_EQ(whys[s], WhyClaimed(s, claims[s]));
      leaders_[s] = claims[s];
    }
  }

  // A shard moves at most once, off its leader, to one of its best nodes, if some don't drain.
  void JudgeMoves(const Simulation& simulation) {
    std::set<std::uint32_t> moved;
    for (const MoveForecast& move : simulation.forecast.moves) {
      const std::uint32_t s = move.shard.value;
      SCOPED_TRACE("move of shard " + std::to_string(s));
      ASSERT_LT(s, leaders_.size());
      EXPECT_TRUE(moved.insert(s).second);
      EXPECT_EQ(leaders_[s], move.from);
      EXPECT_NE(move.from, move.to);
      EXPECT_FALSE(Stays(s));
      const Choice choice = ChoiceFor(s);
      EXPECT_TRUE(choice.best.contains(move.to)) << move.to;
      EXPECT_FALSE(choice.drain);
      EXPECT_EQ(move.why, WhyMoved(move.from, choice));
      leaders_[s] = move.to;
    }
  }

  // In the end each shard is at one of its best nodes. It has no leader exactly if it waits or
  // nobody may lead it. A leader goes on if no node may take over from it.
  void JudgeEnds(const Simulation& simulation) {
    std::set<std::pair<Leaderless::Why, std::uint32_t>> named;
    for (const Leaderless& leaderless : simulation.leaderless) {
      for (const ShardRange& range : leaderless.shards) {
        for (std::uint32_t s = range.first; s <= range.last; ++s) named.insert({leaderless.why, s});
      }
    }
    std::set<std::pair<Leaderless::Why, std::uint32_t>> expected;
    for (std::uint32_t s = 0; s < leaders_.size(); ++s) {
      SCOPED_TRACE("end of shard " + std::to_string(s));
      const Choice choice = ChoiceFor(s);
      if (leaders_[s].empty()) {
        EXPECT_TRUE(Waits(s) || choice.best.empty());
        expected.insert({WhyLeaderless(s, choice), s});
      } else if (choice.drain || Stays(s)) {
        EXPECT_EQ(leaders_[s], held_[s]) << "nobody takes over, to drain at once or for good";
      } else {
        EXPECT_TRUE(choice.best.contains(leaders_[s])) << leaders_[s];
      }
    }
    EXPECT_EQ(named, expected);
    EXPECT_EQ(simulation.leaderless_count, expected.size());
  }

  Leaderless::Why WhyLeaderless(std::uint32_t shard, const Choice& choice) const {
    if (KeptForever(shard)) return Leaderless::Why::kWaitsForLeader;
    bool some = false;
    for (const auto& [id, node] : left_) some = some || node->fact.weight > 0;
    if (!some) return Leaderless::Why::kNoNode;
    return choice.best.empty() ? Leaderless::Why::kRule : Leaderless::Why::kWaitsNow;
  }

  // The shards of rules that want and forbid the same nodes are spread by themselves. Those that
  // stay with a node that stops have seats elsewhere, as those that wait have.
  void JudgePools() {
    const std::vector<NodeId> leaders = leaders_;
    for (std::uint32_t s = 0; s < leaders_.size(); ++s) {
      if (Stays(s)) leaders_[s] = held_[s] = "";
    }
    JudgePoolsWithoutThose();
    leaders_ = leaders;
  }
  void JudgePoolsWithoutThose() {
    std::map<Choice, Group> groups;
    const Choice any = ChoiceBy({});
    bool waits = false;
    for (std::uint32_t s = 0; s < leaders_.size(); ++s) {
      if (KeptForever(s)) continue;
      waits = waits || leaders_[s].empty();
      const Choice choice = ChoiceFor(s);
      Group& group = groups[choice];
      group.shards.push_back(s);
      group.fills_up = choice.best == any.best && choice.forbidden.empty();
    }
    for (const auto& [choice, group] : groups) {
      if (choice.best.empty() || choice.drain) continue;
      if (group.fills_up && groups.size() > 1) {
        if (!waits) JudgeFillingUp(choice, group);
      } else {
        JudgePool(choice, group);
      }
      JudgeGiving(choice, group);
    }
  }

  std::map<NodeId, std::uint32_t> Count(const std::vector<NodeId>& leaders,
                                        const std::vector<std::uint32_t>& shards) const {
    std::map<NodeId, std::uint32_t> counts;
    for (const std::uint32_t s : shards) ++counts[leaders[s]];
    return counts;
  }

  std::uint64_t WeightOf(const NodeId& node) const { return left_.at(node)->fact.weight; }

  // Each node has its share by weight, rounded down or up. With equal weights no fewer moves would
  // do.
  void JudgePool(const Choice& choice, const Group& group) {
    std::uint64_t weights = 0;
    std::set<std::uint64_t> different;
    for (const NodeId& node : choice.best) {
      weights += WeightOf(node);
      different.insert(WeightOf(node));
    }
    std::map<NodeId, std::uint32_t> before = Count(held_, group.shards);
    std::map<NodeId, std::uint32_t> after = Count(leaders_, group.shards);
    std::uint64_t missing = 0;
    std::uint64_t too_few = 0;
    std::uint64_t must_go = group.shards.size() - before[""];
    for (const NodeId& node : choice.best) {
      const std::uint64_t share = group.shards.size() * WeightOf(node);
      const std::uint64_t floor = share / weights;
      const std::uint64_t ceiling = (share + weights - 1) / weights;
      EXPECT_LE(after[node], ceiling) << node;
      missing += floor - std::min<std::uint64_t>(floor, after[node]);
      too_few += floor - std::min<std::uint64_t>(floor, before[node]);
      must_go -= std::min<std::uint64_t>(ceiling, before[node]);
    }
    EXPECT_LE(missing, after[""]) << "only shards that wait keep seats free";
    if (after[""] > 0 || different.size() > 1) return;
    std::uint64_t moves = 0;
    for (const std::uint32_t s : group.shards) moves += held_[s] != leaders_[s] ? 1 : 0;
    EXPECT_EQ(moves, std::max(too_few, must_go)) << "the fewest moves";
  }

  // Moving one more of these shards to another node would make the whole no more even.
  void JudgeFillingUp(const Choice& choice, const Group& group) {
    std::map<NodeId, std::uint64_t> load;
    for (std::uint32_t s = 0; s < leaders_.size(); ++s) {
      // It stays only until a node comes that may take over.
      const Choice of_shard = ChoiceFor(s);
      const bool leaves = of_shard.drain && !of_shard.best.empty();
      if (!leaves) ++load[leaders_[s]];
    }
    std::map<NodeId, std::uint32_t> here = Count(leaders_, group.shards);
    for (const NodeId& a : choice.best) {
      for (const NodeId& b : choice.best) {
        if (a == b || here[a] == 0) continue;
        EXPECT_LT((load[a] - 1) * WeightOf(b), (load[b] + 1) * WeightOf(a))
            << a << " has " << load[a] << ", " << b << " has " << load[b];
      }
    }
  }

  // Nothing moves to a node that also gives, so nothing moves that could have stayed.
  void JudgeGiving(const Choice& choice, const Group& group) {
    Nodes gives;
    Nodes gets;
    for (const std::uint32_t s : group.shards) {
      if (held_[s] == leaders_[s]) continue;
      if (choice.best.contains(held_[s])) gives.insert(held_[s]);
      gets.insert(leaders_[s]);
    }
    for (const NodeId& node : gives) EXPECT_FALSE(gets.contains(node)) << node;
  }

  // The counts of nodes and rules are those of the leaders, and nodes come by id.
  void JudgeCounts(const Simulation& simulation) {
    std::map<NodeId, std::pair<std::uint32_t, std::uint32_t>> counts;
    for (const auto& nodes : {left_, lost_}) {
      for (const auto& [id, node] : nodes) counts[id] = {};
    }
    for (std::uint32_t s = 0; s < leaders_.size(); ++s) {
      const NodeId& now = status_.shards[s].leader;
      if (counts.contains(now)) ++counts[now].first;
      if (!leaders_[s].empty()) ++counts[leaders_[s]].second;
    }
    ASSERT_EQ(simulation.nodes.size(), counts.size());
    auto next = counts.begin();
    for (const NodeOutlook& node : simulation.nodes) {
      EXPECT_EQ(node.node, next->first);
      EXPECT_EQ(node.leads, next->second.first) << node.node;
      EXPECT_EQ(node.then(), next->second.second) << node.node;
      EXPECT_EQ(node.away, lost_.contains(node.node));
      ++next;
    }
    std::vector<RuleKept> kept(status_.placement.size());
    for (std::size_t r = 0; r < kept.size(); ++r) {
      kept[r].by_preference.resize(status_.placement[r].prefer.size());
    }
    for (std::uint32_t s = 0; s < leaders_.size(); ++s) CountKept(s, kept);
    ASSERT_EQ(simulation.rules.size(), kept.size());
    for (std::size_t r = 0; r < kept.size(); ++r) EXPECT_EQ(simulation.rules[r].then, kept[r]);
  }

  void CountKept(std::uint32_t shard, std::vector<RuleKept>& kept) const {
    const PlacementRule* rule = RuleOf(status_.placement, shard);
    if (rule == nullptr) return;
    RuleKept& of_rule = kept[static_cast<std::size_t>(rule - status_.placement.data())];
    if (leaders_[shard].empty()) {
      ++of_rule.by_nobody;
      return;
    }
    const MemberFact& leader = left_.at(leaders_[shard])->fact;
    CountStandbys(*rule, leader, of_rule);
    if (!HasAll(leader, rule->require)) {
      ++of_rule.against_rule;
      return;
    }
    for (std::size_t p = 0; p < rule->prefer.size(); ++p) {
      if (!HasAll(leader, rule->prefer[p])) continue;
      ++of_rule.by_preference[p];
      return;
    }
    ++of_rule.by_others;
  }

  // Of the other nodes that may stand by as many do as the rule asks for, or all. They are apart
  // from the leader and from each other if there are enough values.
  void CountStandbys(const PlacementRule& rule, const MemberFact& leader, RuleKept& kept) const {
    if (rule.standbys == 0) return;
    std::size_t nodes = 0;
    std::set<std::string> values;
    for (const auto& [id, node] : left_) {
      const bool may = node->fact.weight > 0 && !Drains(*node) && HasAll(node->fact, rule.require);
      if (!may || id == leader.node) continue;
      ++nodes;
      const std::string value = LabelOf(node->fact, rule.spread);
      if (value != LabelOf(leader, rule.spread)) values.insert(value);
    }
    if (nodes < rule.standbys) ++kept.fewer_standbys;
    const bool apart = values.size() >= std::min<std::size_t>(nodes, rule.standbys);
    if (!rule.spread.empty() && !apart) ++kept.not_apart;
  }

  const NodeStatus& status_;
  std::map<NodeId, const MemberStatus*> left_;  // nodes that live and are not taken away
  std::map<NodeId, const MemberStatus*> lost_;
  std::vector<const MemberFact*> stay_;  // of left_: those that may stand by
  std::vector<NodeId> leaders_;  // of nodes that are left, by shard; in the end as simulated
  std::vector<NodeId> held_;     // after the claims
};

// The simulated claims and moves, carried out.
NodeStatus Settled(NodeStatus status, const Oracle& oracle) {
  const NodeStatus before = status;
  std::erase_if(status.members, [&](const MemberStatus& member) {
    return !oracle.left().contains(member.fact.node);
  });
  for (std::size_t s = 0; s < status.shards.size(); ++s) {
    const NodeId& leader = oracle.leaders()[s];
    ShardStatus& shard = status.shards[s];
    const bool kept = leader.empty() && status.failover.policy == FailoverPolicy::kNever &&
                      !before.shards[s].leader.empty();
    if (kept) shard.waits_for = before.shards[s].leader;
    shard.leader = leader;
  }
  return status;
}

// Plan: 10,000 random groups, of which nodes are taken away. The oracle judges the answer. Once it
// is carried out, nothing is left to do.
TEST(SimulationOracle, AgreesInTenThousandRandomCases) {
  std::map<std::string, std::uint64_t> seen;
  for (std::uint64_t seed = 1; seed <= kCases / BATON_FEWER_SEEDS; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    NodeStatus status = RandomStatus(random);
    Random of_standbys(seed + kCases);
    if (of_standbys.OneIn(2)) AddStandbys(of_standbys, status);
    const std::vector<LabelTerm> without = RandomWithout(random, status);
    const Result<Simulation> simulation = Simulate(status, without);
    ASSERT_TRUE(simulation.ok()) << simulation.error().message;
    Oracle oracle(status, without);
    oracle.Judge(*simulation);
    if (HasFailure()) return;
    const NodeStatus settled = Settled(status, oracle);
    const Result<Simulation> again = Simulate(settled, {});
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->forecast.claims.empty());
    EXPECT_TRUE(again->forecast.moves.empty());
    if (HasFailure()) return;
    ++seen[simulation->forecast.claims.empty() ? "no claims" : "claims"];
    if (simulation->by_ready_standbys.value_or(0) > 0) ++seen["ready standbys"];
    for (const ClaimForecast& claim : simulation->forecast.claims) {
      ++seen[std::string("claim: ") + ToString(claim.why)];
    }
    for (const MoveForecast& move : simulation->forecast.moves) ++seen[ToString(move.why)];
    for (const Leaderless& leaderless : simulation->leaderless) ++seen[ToString(leaderless.why)];
    for (const RuleOutlook& rule : simulation->rules) {
      seen["fewer standbys"] += rule.then.fewer_standbys;
      seen["not apart"] += rule.then.not_apart;
    }
  }
  // Each kind of answer comes often enough to be judged.
  for (const char* word :
       {"claims", "ready standbys", "claim: has_room", "claim: rule_requires",
        "claim: rule_prefers", "rule_forbids", "rule_prefers", "drain", "balance", "no_node",
        "waits_for_leader", "waits", "fewer standbys", "not apart"}) {
    EXPECT_GT(seen[word], kCases / BATON_FEWER_SEEDS / 50) << word;
  }
}

}  // namespace
}  // namespace baton::app
