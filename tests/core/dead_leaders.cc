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

constexpr double kMaxShare = 1.25;
constexpr double kSlack = 3;
constexpr double kDeviations = 1;  // of a Poisson distribution

std::string ZoneName(std::uint32_t number) {
  return std::string(1, static_cast<char>('a' + number));
}

/// What one node should hold after the death.
struct Share {
  double kept = 0;
  double part = 0;  ///< of the dead node's shards
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
  std::vector<MemberIndex> MayTakeOver(ShardId shard, MemberIndex dead) const;
  std::vector<Share> SharesAfter(MemberIndex dead) const;
  bool AnyMayTakeAny(MemberIndex dead) const;
  void Remove(MemberIndex dead);
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

// The nodes to which the shard may go by its rule: those that fit it, without the dead leader and,
// if there are values of `spread` enough for all replicas, without the nodes that share its value.
// Of these, those of the earliest preference.
std::vector<MemberIndex> WarmGroup::MayTakeOver(ShardId shard, MemberIndex dead) const {
  const PlacementRule& rule = *rules_.Of(shard);
  std::set<std::string> values;
  for (const MemberFact& fact : facts_) {
    if (fact.Fits(rule.require)) values.insert(fact.Label(rule.spread));
  }
  const bool apart = values.size() > rule.standbys;
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

// What each node holds if each of the dead node's shards is divided, by weight, among all nodes to
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
  }
  shares.erase(shares.begin() + dead);
  return shares;
}

bool WarmGroup::AnyMayTakeAny(MemberIndex dead) const {
  if (!input_.pools.empty()) return false;
  for (const std::uint32_t shard : {0u, 100u}) {
    if (shard >= input_.shards.size()) continue;
    if (MayTakeOver(ShardId{shard}, dead).size() + 1 < facts_.size()) return false;
  }
  return true;
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

// A hash decides, so small parts deviate by chance. Without that, the bound is 1.25 times the fair
// share, plus 3. If each other node may take over each shard, chance has no room beside that.
DeadLeaders WarmGroup::Kill() {
  const MemberIndex dead = dice_.Roll(facts_.size());
  const std::vector<Share> shares = SharesAfter(dead);
  const bool any_may_take_any = AnyMayTakeAny(dead);
  Remove(dead);
  for (const PlannedClaim& claim : Assign(input_).claims) {
    AssignmentShard& shard = input_.shards[claim.shard.value];
    shard.leader = claim.to;
    shard.standby = kNobody;
  }
  DeadLeaders result;
  const std::vector<std::uint32_t> led = CountLed(input_);
  const std::vector<std::uint32_t> targets = Assign(input_).target;
  for (MemberIndex m = 0; m < led.size(); ++m) {
    const double target = targets[m];
    const double fair =
        any_may_take_any ? target : std::max(target, shares[m].kept + shares[m].part);
    const double chance = any_may_take_any ? 0 : kDeviations * std::sqrt(shares[m].part);
    double& most = any_may_take_any ? result.most_of_target : result.most_of_share;
    if (led[m] > kSlack + chance) most = std::max(most, (led[m] - kSlack - chance) / fair);
    if (led[m] <= kMaxShare * fair + kSlack + chance || !result.wrong.empty()) continue;
    result.wrong = facts_[m].node + " holds " + std::to_string(led[m]) + ", its fair share is " +
                   std::to_string(fair) + ", its target " + std::to_string(targets[m]) + "; " +
                   InWords();
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

DeadLeaders TryDeadLeaders(std::uint64_t seed, std::uint64_t groups) {
  DeadLeaders all;
  for (const std::uint64_t end = seed + groups; seed < end; ++seed) {
    DeadLeaders one = WarmGroup(seed).Kill();
    all.most_of_share = std::max(all.most_of_share, one.most_of_share);
    all.most_of_target = std::max(all.most_of_target, one.most_of_target);
    if (one.wrong.empty()) continue;
    all.wrong = "seed " + std::to_string(seed) + ": " + one.wrong;
    return all;
  }
  return all;
}

}  // namespace baton::core
