#include "core/standbys.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace baton::core {
namespace {

// If more nodes come at once, it is cheaper to choose again.
constexpr std::size_t kAddedOneByOne = 8;
// The cost of a shard that is chosen again, beside its scores; in scores.
constexpr std::size_t kCostOfShard = 20;

// The part of a member that decides which replicas the node is.
MemberFact Copy(const MemberFact& fact) {
  MemberFact copy;
  copy.node = fact.node;
  copy.zone = fact.zone;
  copy.labels = fact.labels;
  copy.weight = fact.weight;
  return copy;
}

bool SameForChoice(const MemberFact& a, const MemberFact& b) {
  return a.weight == b.weight && a.zone == b.zone && a.labels == b.labels;
}

bool SameForChoice(const PlacementRule& a, const PlacementRule& b) {
  if (a.standbys == 0 && b.standbys == 0) return true;
  return a.standbys == b.standbys && a.spread == b.spread && a.require == b.require &&
         a.prefer == b.prefer;
}

// Both are sorted; so is the result, without duplicates. (To sort a large group's shards takes
// long.)
std::vector<ShardId> Union(const std::vector<ShardId>& one, const std::vector<ShardId>& other) {
  std::vector<ShardId> all;
  all.reserve(one.size() + other.size());
  std::ranges::set_union(one, other, std::back_inserter(all));
  return all;
}

// Compares the rules of shards before and after a change, each pair of rules once.
class RulesCompared {
 public:
  RulesCompared(const Placement& before, const Placement& after)
      : before_(before), after_(after), known_((before.size() + 1) * (after.size() + 1)) {}
  bool Same(std::size_t before, std::size_t after) {
    Known& known = known_[before * (after_.size() + 1) + after];
    if (known == Known::kNothing) {
      const bool same = SameForChoice(RuleOf(before_, before), RuleOf(after_, after));
      known = same ? Known::kSame : Known::kOther;
    }
    return known == Known::kSame;
  }

 private:
  enum class Known : std::uint8_t { kNothing, kSame, kOther };
  static const PlacementRule& RuleOf(const Placement& placement, std::size_t number) {
    static const PlacementRule kNoRule;
    return number < placement.size() ? placement[number] : kNoRule;
  }

  const Placement& before_;
  const Placement& after_;
  std::vector<Known> known_;
};

}  // namespace

Standbys::Arrivals Standbys::TakeNodes(const std::vector<const MemberFact*>& nodes) {
  Arrivals arrivals;
  arrivals.changed.resize(nodes_.size(), false);
  std::vector<bool> present(nodes_.size(), false);
  for (const MemberFact* fact : nodes) {
    const auto known = numbers_.find(fact->node);
    if (known == numbers_.end()) continue;
    const Number number = known->second;
    present[number] = true;
    if (SameForChoice(nodes_[number], *fact)) continue;
    nodes_[number] = Copy(*fact);
    arrivals.changed[number] = true;
    arrivals.came.push_back(number);
  }
  arrivals.left.resize(nodes_.size(), false);
  for (auto entry = numbers_.begin(); entry != numbers_.end();) {
    const Number number = entry->second;
    if (present[number]) {
      ++entry;
      continue;
    }
    arrivals.changed[number] = arrivals.left[number] = arrivals.any = true;
    nodes_[number] = MemberFact{};
    entry = numbers_.erase(entry);
  }
  std::size_t next = 0;
  for (const MemberFact* fact : nodes) {
    if (numbers_.contains(fact->node)) continue;
    while (next < nodes_.size() && !nodes_[next].node.empty()) ++next;
    if (next == nodes_.size()) nodes_.emplace_back();
    nodes_[next] = Copy(*fact);
    numbers_[fact->node] = static_cast<Number>(next);
    arrivals.came.push_back(static_cast<Number>(next));
  }
  arrivals.any = arrivals.any || !arrivals.came.empty();
  arrivals.changed.resize(nodes_.size(), false);
  arrivals.left.resize(nodes_.size(), false);
  return arrivals;
}

ReplicaChoice Standbys::ChoiceOf(const PlacementRule& rule) const {
  if (rule.standbys == 0) return {};
  std::vector<ReplicaChoice::Node> allowed;
  std::map<std::string, std::uint32_t> values;
  for (const auto& [id, number] : numbers_) {
    const MemberFact& fact = nodes_[number];
    if (!fact.Fits(rule.require)) continue;
    const auto fits = [&](const LabelTerms& terms) { return fact.Fits(terms); };
    const auto first = std::find_if(rule.prefer.begin(), rule.prefer.end(), fits);
    const auto next = static_cast<std::uint32_t>(values.size());
    allowed.push_back({.number = number,
                       .hash = HashOfNode(id),
                       .weight = fact.weight,
                       .tier = static_cast<std::uint32_t>(first - rule.prefer.begin()),
                       .value = values.try_emplace(fact.Label(rule.spread), next).first->second});
  }
  return ReplicaChoice(std::move(allowed), rule.standbys + 1);
}

// Makes room for the replicas.
void Standbys::Reshape(std::uint32_t shards, std::size_t stride) {
  if (rule_of_.size() != shards || stride_ == 0) {
    rule_of_.assign(shards, static_cast<std::uint8_t>(placement_.size()));
    slots_.assign(shards * stride, kFree);
    waits_.assign(shards, false);
    waiting_ = next_ = 0;
  } else if (stride != stride_) {
    std::vector<Number> slots(shards * stride, kFree);
    const std::size_t kept = std::min(stride, stride_);
    for (std::size_t s = 0; s < shards; ++s) {
      std::copy_n(slots_.begin() + s * stride_, kept, slots.begin() + s * stride);
    }
    slots_ = std::move(slots);
  }
  stride_ = stride;
}

// Lets the shards wait whose rule changed in what matters, and adds them to `changed`. Returns
// whether the rules changed.
bool Standbys::TakeRules(const ShardRules& rules, std::uint32_t shards,
                         std::vector<ShardId>& changed) {
  const bool same_size = empty() || rule_of_.size() == shards;
  if (rules.placement() == placement_ && same_size) return false;
  std::size_t stride = 0;
  for (const PlacementRule& rule : rules.placement()) {
    if (rule.standbys > 0) stride = std::max<std::size_t>(stride, rule.standbys + 1u);
  }
  if (stride == 0) {
    for (std::uint32_t s = 0; s < rule_of_.size() && s < shards; ++s) changed.push_back(ShardId{s});
    *this = Standbys();
    placement_ = rules.placement();
    return true;
  }
  Reshape(shards, stride);
  RulesCompared compared(placement_, rules.placement());
  for (std::uint32_t s = 0; s < shards; ++s) {
    const std::size_t rule = rules.NumberOf(ShardId{s});
    if (!compared.Same(rule_of_[s], rule)) {
      Wait(ShardId{s});
      changed.push_back(ShardId{s});
    }
    rule_of_[s] = static_cast<std::uint8_t>(rule);
  }
  placement_ = rules.placement();
  return true;
}

void Standbys::SetChoices(Arrivals& arrivals) {
  choices_.clear();
  for (const PlacementRule& rule : placement_) {
    const ReplicaChoice& choice = choices_.emplace_back(ChoiceOf(rule));
    std::vector<Number>& came = arrivals.came_by_rule.emplace_back();
    std::copy_if(arrivals.came.begin(), arrivals.came.end(), std::back_inserter(came),
                 [&](Number node) { return choice.Has(node); });
  }
}

void Standbys::Wait(ShardId shard) {
  if (waits_[shard.value]) return;
  waits_[shard.value] = true;
  ++waiting_;
}

ReplicaChoice* Standbys::ChoiceFor(ShardId shard) {
  const std::size_t rule = rule_of_[shard.value];
  return rule < choices_.size() && choices_[rule].replicas() > 0 ? &choices_[rule] : nullptr;
}

bool Standbys::SetReplicas(ShardId shard, std::span<const Number> replicas) {
  Number* const slots = slots_.data() + shard.value * stride_;
  if (std::ranges::equal(replicas, NumbersOf(shard))) return false;
  std::fill(std::ranges::copy(replicas, slots).out, slots + stride_, kFree);
  return true;
}

// Removes replicas that left, or that the shard's rule does not ask for.
bool Standbys::Prune(ShardId shard, const Arrivals& arrivals) {
  const ReplicaChoice* const choice = ChoiceFor(shard);
  scratch_.clear();
  for (const Number node : NumbersOf(shard)) {
    if (choice == nullptr || arrivals.left[node] || !choice->Has(node)) continue;
    if (scratch_.size() < choice->replicas()) scratch_.push_back(node);
  }
  return SetReplicas(shard, scratch_);
}

bool Standbys::Take(ShardId shard, const Arrivals& arrivals) {
  const std::span<const Number> replicas = NumbersOf(shard);
  const bool lost = std::any_of(replicas.begin(), replicas.end(),
                                [&](Number node) { return arrivals.changed[node]; });
  if (lost) Wait(shard);
  if (waits_[shard.value]) return Prune(shard, arrivals) || lost;
  ReplicaChoice* const choice = ChoiceFor(shard);
  if (choice == nullptr) return false;
  const std::vector<Number>& came = arrivals.came_by_rule[rule_of_[shard.value]];
  if (came.size() > std::min(kAddedOneByOne, choice->size() / kAddedOneByOne)) Wait(shard);
  if (came.empty() || waits_[shard.value]) return false;
  scratch_.assign(replicas.begin(), replicas.end());
  bool changed = false;
  for (const Number node : came) changed = choice->Add(shard, node, scratch_) || changed;
  return changed && SetReplicas(shard, scratch_);
}

std::vector<ShardId> Standbys::Update(const ShardRules& rules, std::uint32_t shards,
                                      const std::vector<const MemberFact*>& nodes,
                                      std::size_t most) {
  std::vector<ShardId> changed;
  const bool other_rules = TakeRules(rules, shards, changed);
  if (empty()) return changed;
  Arrivals arrivals = TakeNodes(nodes);
  if (other_rules || arrivals.any) SetChoices(arrivals);
  if (arrivals.any || !changed.empty()) {
    std::vector<ShardId> taken;
    for (std::uint32_t s = 0; s < shards; ++s) {
      if (Take(ShardId{s}, arrivals)) taken.push_back(ShardId{s});
    }
    changed = Union(changed, taken);
  }
  return Union(changed, Continue(most));
}

std::vector<ShardId> Standbys::Continue(std::size_t most) {
  std::vector<ShardId> changed;
  for (std::size_t scores = 0; waiting_ > 0 && scores < most; ++next_) {
    if (next_ >= rule_of_.size()) next_ = 0;
    const ShardId shard{next_};
    if (!waits_[next_]) continue;
    waits_[next_] = false;
    --waiting_;
    ReplicaChoice* const choice = ChoiceFor(shard);
    if (choice == nullptr) continue;
    scores += choice->Cost() + kCostOfShard;
    if (SetReplicas(shard, choice->Choose(shard))) changed.push_back(shard);
  }
  std::sort(changed.begin(), changed.end());
  return changed;
}

std::uint32_t Standbys::Wanted(ShardId shard) const {
  if (empty()) return 0;
  const std::size_t rule = rule_of_.at(shard.value);
  return rule < placement_.size() ? placement_[rule].standbys : 0;
}

std::vector<NodeId> Standbys::ReplicasOf(ShardId shard) const {
  std::vector<NodeId> replicas;
  for (const Number node : NumbersOf(shard)) replicas.push_back(nodes_[node].node);
  return replicas;
}

std::span<const Standbys::Number> Standbys::NumbersOf(ShardId shard) const {
  if (empty()) return {};
  BATON_CHECK(shard.value < rule_of_.size());
  const Number* const slots = slots_.data() + shard.value * stride_;
  return {slots, std::find(slots, slots + stride_, kFree)};
}

Standbys::Number Standbys::IdleReplica(ShardId shard, const MemberFact* leader) const {
  const std::span<const Number> replicas = NumbersOf(shard);
  if (leader == nullptr || replicas.empty()) return kFree;
  const auto is_leader = [&](Number node) { return nodes_[node].node == leader->node; };
  const auto found = std::find_if(replicas.begin(), replicas.end(), is_leader);
  if (found != replicas.end()) return *found;
  if (replicas.size() <= Wanted(shard)) return kFree;
  const std::string& spread = placement_[rule_of_[shard.value]].spread;
  const ReplicaChoice& choice = choices_[rule_of_[shard.value]];
  // By rank, which counts the leader, and then by preference and score, as among the replicas.
  Number last = kFree;
  std::ptrdiff_t rank_of_last = 0;
  for (auto replica = replicas.begin(); replica != replicas.end(); ++replica) {
    const std::string& value = nodes_[*replica].Label(spread);
    const auto shares = [&](Number node) { return nodes_[node].Label(spread) == value; };
    const std::ptrdiff_t rank =
        std::count_if(replicas.begin(), replica, shares) + (leader->Label(spread) == value ? 1 : 0);
    const bool later = last == kFree || rank > rank_of_last ||
                       (rank == rank_of_last && choice.Before(shard, last, *replica));
    if (!later) continue;
    last = *replica;
    rank_of_last = rank;
  }
  return last;
}

std::vector<NodeId> Standbys::Of(ShardId shard, const MemberFact* leader) const {
  const Number idle = IdleReplica(shard, leader);
  std::vector<NodeId> standbys;
  for (const Number node : NumbersOf(shard)) {
    if (node != idle) standbys.push_back(nodes_[node].node);
  }
  return standbys;
}

bool Standbys::StandsBy(ShardId shard, const MemberFact* leader, const NodeId& node) const {
  const auto number = numbers_.find(node);
  if (number == numbers_.end()) return false;
  const std::span<const Number> replicas = NumbersOf(shard);
  const bool replica =
      std::find(replicas.begin(), replicas.end(), number->second) != replicas.end();
  return replica && IdleReplica(shard, leader) != number->second;
}

}  // namespace baton::core
