#include "core/dead_leaders.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "core/assignment_views.h"
#include "core/pools.h"
#include "core/standbys.h"

namespace baton::core {
namespace {

// The bound of docs/placement.md.
constexpr double kMaxShare = 1.25;
constexpr double kSlack = 3;
// Standard deviations of a Poisson distribution: what may be chance in the bound, and at most in
// what arrives at one node.
constexpr double kDeviations = 1;
constexpr double kMaxDeviations = 5;

std::string ZoneName(std::uint32_t number) {
  return std::string(1, static_cast<char>('a' + number));
}

/// One node's share of shards after the death.
struct Share {
  double kept = 0;
  double part = 0;     ///< of the dead node's shards
  double may_get = 0;  ///< of the dead node's shards: how many may go to it at all
};

// The nodes, rules and leaders of a group before the death.
class WarmGroup {
 public:
  explicit WarmGroup(std::uint64_t seed) : dice_(seed) {
    DrawNodes();
    DrawRules();
    const auto a_node = static_cast<std::uint32_t>(20 + dice_.Roll(180));
    input_.shards.resize(facts_.size() * a_node);
    rules_.Set(placement_, static_cast<std::uint32_t>(input_.shards.size()));
    standbys_.Update(rules_, static_cast<std::uint32_t>(input_.shards.size()), Pointers());
    DrawLeaders();
  }

  /// Kills a node, lets the others claim, and checks what they hold then.
  DeadLeaders Kill();
  std::string InWords() const;

 private:
  void DrawNodes();
  void DrawRules();
  void DrawLeaders();
  void SetPools();
  std::vector<const MemberFact*> Pointers() const;
  bool KeptApart(const PlacementRule& rule) const;
  std::vector<MemberIndex> FirstOf(const PlacementRule& rule, MemberIndex dead, bool apart) const;
  std::vector<MemberIndex> MayTakeOver(ShardId shard, MemberIndex dead) const;
  std::set<MemberIndex> MayGet(ShardId shard, MemberIndex dead) const;
  std::vector<Share> SharesAfter(MemberIndex dead) const;
  HeirsBy HeirsOf(MemberIndex dead) const;
  void Remove(MemberIndex dead);
  void Claim();
  std::string Judge(MemberIndex node, const Share& share, HeirsBy by, JudgedDeaths& judged) const;
  std::string CheckMoves();

  Dice dice_;
  std::vector<MemberFact> facts_;  ///< sorted by id
  Placement placement_;
  ShardRules rules_;
  Standbys standbys_;
  AssignmentInput input_;
};

void WarmGroup::DrawNodes() {
  const std::uint32_t nodes = dice_.OneIn(2) ? 2 + dice_.Roll(9) : 5 + dice_.Roll(56);
  const std::uint32_t zones = 1 + dice_.Roll(5);
  const bool in_turn = dice_.OneIn(2);
  const bool weighted = dice_.OneIn(4);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    MemberFact fact;
    fact.node = NodeName(n);
    fact.zone = ZoneName(in_turn ? n % zones : dice_.Roll(zones));
    fact.weight = weighted ? 1 + dice_.Roll(3) : 1;
    if (dice_.OneIn(2)) fact.labels["disk"] = "ssd";
    facts_.push_back(std::move(fact));
    input_.members.push_back({.id = facts_.back().node, .weight = facts_.back().weight});
  }
}

void WarmGroup::DrawRules() {
  const bool bound_to_labels = dice_.OneIn(3);
  for (std::uint32_t left = dice_.OneIn(3) ? 2 : 1; left > 0; --left) {
    PlacementRule rule;
    rule.standbys = 1 + dice_.Roll(dice_.OneIn(4) ? 4 : 2);
    if (dice_.OneIn(2)) rule.spread = "zone";
    if (bound_to_labels && dice_.OneIn(2)) rule.require = {{"zone", {"a", "b"}}};
    if (bound_to_labels && dice_.OneIn(2)) rule.prefer = {{{"disk", {"ssd"}}}};
    if (left > 1) rule.shards = {{0, 99}};
    placement_.push_back(std::move(rule));
  }
}

std::vector<const MemberFact*> WarmGroup::Pointers() const {
  std::vector<const MemberFact*> pointers;
  for (const MemberFact& fact : facts_) pointers.push_back(&fact);
  return pointers;
}

void WarmGroup::SetPools() {
  Pools pools = PoolsFor(placement_, input_.members, Pointers());
  for (std::uint32_t s = 0; s < input_.shards.size(); ++s) {
    const std::size_t rule = rules_.NumberOf(ShardId{s});
    input_.shards[s].pool = rule < rules_.size() ? pools.of_rule[rule] : 0;
  }
  input_.pools = std::move(pools.pools);
}

// Evenly, as after an election, but in no order: who leads has nothing to do with who stands by.
void WarmGroup::DrawLeaders() {
  SetPools();
  for (const PlannedClaim& claim : Assign(input_).claims) {
    input_.shards[claim.shard.value].leader = claim.to;
  }
  for (std::size_t s = input_.shards.size(); s > 1; --s) {
    AssignmentShard& shard = input_.shards[s - 1];
    AssignmentShard& other = input_.shards[dice_.Roll(s)];
    if (shard.pool == other.pool) std::swap(shard.leader, other.leader);
  }
}

// Whether the label's values are enough to keep all replicas apart.
bool WarmGroup::KeptApart(const PlacementRule& rule) const {
  std::set<std::string> values;
  for (const MemberFact& fact : facts_) {
    if (fact.Fits(rule.require)) values.insert(fact.Label(rule.spread));
  }
  return values.size() > rule.standbys;
}

// Of the other nodes that fit the rule those of the earliest preference. `apart`: without those
// that share the dead leader's value of `spread`.
std::vector<MemberIndex> WarmGroup::FirstOf(const PlacementRule& rule, MemberIndex dead,
                                            bool apart) const {
  std::vector<const MemberFact*> others;
  for (const MemberFact& fact : facts_) {
    const bool shares = fact.Label(rule.spread) == facts_[dead].Label(rule.spread);
    if (&fact != &facts_[dead] && !(apart && shares)) others.push_back(&fact);
  }
  std::vector<MemberIndex> result;
  for (const MemberFact* fact : FirstChoice(rule, others)) {
    result.push_back(static_cast<MemberIndex>(fact - facts_.data()));
  }
  return result;
}

// The nodes among which the shards of this rule should be divided.
std::vector<MemberIndex> WarmGroup::MayTakeOver(ShardId shard, MemberIndex dead) const {
  const PlacementRule& rule = *rules_.Of(shard);
  return FirstOf(rule, dead, KeptApart(rule));
}

// The nodes one of which gets the shard for sure. If there are too few values to keep all replicas
// apart, the first two are apart all the same: so if the dead leader is the first one, the shard
// goes to another value.
std::set<MemberIndex> WarmGroup::MayGet(ShardId shard, MemberIndex dead) const {
  const PlacementRule& rule = *rules_.Of(shard);
  const std::vector<MemberIndex> apart = FirstOf(rule, dead, !rule.spread.empty());
  std::set<MemberIndex> may(apart.begin(), apart.end());
  if (KeptApart(rule)) return may;
  const std::vector<MemberIndex> all = FirstOf(rule, dead, false);
  may.insert(all.begin(), all.end());
  return may;
}

// Each node's share if each of the dead node's shards is divided, by weight, among all nodes to
// which it may go.
std::vector<Share> WarmGroup::SharesAfter(MemberIndex dead) const {
  std::vector<Share> shares(facts_.size());
  for (std::uint32_t s = 0; s < input_.shards.size(); ++s) {
    const MemberIndex leader = input_.shards[s].leader;
    if (leader == kNobody) continue;
    if (leader != dead) {
      ++shares[leader].kept;
      continue;
    }
    const std::vector<MemberIndex> heirs = MayTakeOver(ShardId{s}, dead);
    double weights = 0;
    for (const MemberIndex heir : heirs) weights += facts_[heir].weight;
    for (const MemberIndex heir : heirs) shares[heir].part += facts_[heir].weight / weights;
    for (const MemberIndex heir : MayGet(ShardId{s}, dead)) ++shares[heir].may_get;
  }
  shares.erase(shares.begin() + dead);
  return shares;
}

HeirsBy WarmGroup::HeirsOf(MemberIndex dead) const {
  std::set<HeirsBy> by;
  for (const std::uint32_t shard : {0u, 100u}) {
    if (shard >= input_.shards.size()) continue;
    const PlacementRule& rule = *rules_.Of(ShardId{shard});
    const bool apart = KeptApart(rule);
    PlacementRule without_order = rule;
    without_order.prefer.clear();
    const std::size_t allowed = FirstOf(without_order, dead, false).size();
    const std::size_t spread = FirstOf(without_order, dead, apart).size();
    if (allowed + 1 < facts_.size()) by.insert(HeirsBy::kRequire);
    if (spread < allowed) by.insert(HeirsBy::kSpread);
    if (FirstOf(rule, dead, apart).size() < spread) by.insert(HeirsBy::kPrefer);
  }
  // The dead node itself may be the one that a rule keeps out: then its targets are others'.
  if (by.size() > 1 || (by.empty() && !input_.pools.empty())) return HeirsBy::kSeveral;
  return by.empty() ? HeirsBy::kAnyNode : *by.begin();
}

// Each shard that loses its leader goes to its first ready standby.
void WarmGroup::Remove(MemberIndex dead) {
  const MemberFact gone = facts_[dead];
  std::vector<std::vector<NodeId>> ready(input_.shards.size());
  for (std::uint32_t s = 0; s < input_.shards.size(); ++s) {
    if (input_.shards[s].leader == dead) ready[s] = standbys_.Of(ShardId{s}, &gone);
  }
  facts_.erase(facts_.begin() + dead);
  standbys_.Update(rules_, static_cast<std::uint32_t>(input_.shards.size()), Pointers());
  input_ = WithoutMember(input_, dead);
  SetPools();
  for (std::uint32_t s = 0; s < input_.shards.size(); ++s) {
    for (const NodeId& node : standbys_.Of(ShardId{s}, nullptr)) {
      if (std::find(ready[s].begin(), ready[s].end(), node) == ready[s].end()) continue;
      const auto at = [&](const AssignmentMember& member) { return member.id == node; };
      const auto found = std::find_if(input_.members.begin(), input_.members.end(), at);
      input_.shards[s].standby = static_cast<MemberIndex>(found - input_.members.begin());
      break;
    }
  }
}

std::string WarmGroup::CheckMoves() {
  for (const PlannedMove& move : PlanMoves(input_, {}, input_.shards.size())) {
    input_.shards[move.shard.value].leader = move.to;
  }
  if (CountLed(input_) == Assign(input_).target) return {};
  return "planned moves leave the group uneven; " + InWords();
}

void WarmGroup::Claim() {
  for (const PlannedClaim& claim : Assign(input_).claims) {
    AssignmentShard& shard = input_.shards[claim.shard.value];
    shard.leader = claim.to;
    shard.standby = kNobody;
  }
}

// A hash decides, so small parts deviate by chance. Without that, the bound is 1.25 times the fair
// share, plus 3. If each other node may take over each shard, chance has no room beside that. What
// arrives is judged by itself, too: a node that keeps much has a wide bound.
std::string WarmGroup::Judge(MemberIndex node, const Share& share, HeirsBy by,
                             JudgedDeaths& judged) const {
  const double holds = CountLed(input_)[node];
  const double target = Assign(input_).target[node];
  const bool any = by == HeirsBy::kAnyNode;
  const double fair = any ? target : std::max(target, share.kept + share.part);
  const double chance = any ? 0 : kDeviations * std::sqrt(share.part);
  const double bound = kMaxShare * fair + kSlack + chance;
  if (share.kept + share.may_get > bound) ++judged.nodes;
  if (holds > kSlack + chance)
    judged.most = std::max(judged.most, (holds - kSlack - chance) / fair);
  const double got = holds - share.kept;
  const double most = share.part + kSlack + kMaxDeviations * std::sqrt(share.part);
  const bool foreign = share.may_get == 0 && got > 0;
  if (holds <= bound && got <= most && !foreign) return {};
  return facts_[node].node + " holds " + std::to_string(holds) + ", " + std::to_string(got) +
         " of them from the dead leader, where its part is " + std::to_string(share.part) +
         "; its fair share is " + std::to_string(fair) + ", its target " + std::to_string(target) +
         "; " + InWords();
}

DeadLeaders WarmGroup::Kill() {
  const MemberIndex dead = dice_.Roll(facts_.size());
  const std::vector<Share> shares = SharesAfter(dead);
  const HeirsBy by = HeirsOf(dead);
  Remove(dead);
  Claim();
  DeadLeaders result;
  JudgedDeaths& judged = result.judged[static_cast<std::size_t>(by)];
  ++judged.groups;
  for (MemberIndex m = 0; m < input_.members.size(); ++m) {
    std::string wrong = Judge(m, shares[m], by, judged);
    if (result.wrong.empty()) result.wrong = std::move(wrong);
  }
  if (result.wrong.empty()) result.wrong = CheckMoves();
  return result;
}

std::string WarmGroup::InWords() const {
  std::string words;
  for (const MemberFact& fact : facts_) {
    words += fact.node + " in " + fact.zone + " weight " + std::to_string(fact.weight) +
             (fact.labels.empty() ? "" : " ssd") + ", ";
  }
  for (const PlacementRule& rule : placement_) {
    words += "| standbys " + std::to_string(rule.standbys) + " " + rule.spread +
             (rule.require.empty() ? "" : " requires a zone") +
             (rule.prefer.empty() ? "" : " prefers a disk");
  }
  return words;
}

}  // namespace

const char* ToString(HeirsBy by) {
  switch (by) {
    case HeirsBy::kAnyNode: return "any node";
    case HeirsBy::kSpread: return "spread";
    case HeirsBy::kRequire: return "require";
    case HeirsBy::kPrefer: return "prefer";
    case HeirsBy::kSeveral: return "several";
  }
  return "unknown";
}

DeadLeaders TryDeadLeaders(std::uint64_t seed, std::uint64_t groups) {
  DeadLeaders all;
  for (const std::uint64_t end = seed + groups; seed < end; ++seed) {
    const DeadLeaders one = WarmGroup(seed).Kill();
    for (std::size_t by = 0; by < kHeirsBy; ++by) {
      all.judged[by].groups += one.judged[by].groups;
      all.judged[by].nodes += one.judged[by].nodes;
      all.judged[by].most = std::max(all.judged[by].most, one.judged[by].most);
    }
    if (one.wrong.empty()) continue;
    all.wrong = "seed " + std::to_string(seed) + ": " + one.wrong;
    return all;
  }
  return all;
}

}  // namespace baton::core
