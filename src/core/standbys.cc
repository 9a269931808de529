#include "core/standbys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <set>
#include <utility>

#include "base/check.h"

namespace baton::core {
namespace {

// A node's id as a number: FNV-1a, the same on every node and machine.
std::uint64_t HashOf(const NodeId& id) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

// Mixes node and shard so that each bit of both decides about each bit of the result (the last
// steps of SplitMix64).
std::uint64_t Mix(std::uint64_t node, ShardId shard) {
  std::uint64_t x = node + (shard.value + 1ull) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr int kFraction = 20;   // bits after the point of a logarithm
constexpr int kTableBits = 10;  // the table has the logarithms of 1 + i / 1024

// log2(m / 2^31) for 2^31 <= m < 2^32, by repeated squaring.
constexpr std::uint32_t LogOfMantissa(std::uint64_t m) {
  std::uint32_t result = 0;
  for (int bit = 0; bit < kFraction; ++bit) {
    m = (m * m) >> 31;
    result <<= 1;
    if (m >= (1ull << 32)) {
      m >>= 1;
      result |= 1;
    }
  }
  return result;
}

constexpr auto kLogs = [] {
  std::array<std::uint32_t, (1u << kTableBits) + 1> logs{};
  for (std::uint64_t i = 0; i < (1u << kTableBits); ++i) {
    logs[i] = LogOfMantissa((1ull << 31) + (i << (31 - kTableBits)));
  }
  logs[1u << kTableBits] = 1u << kFraction;
  return logs;
}();

// -log2((hash + 1) / 2^64), in units of 2^-20, and at least 1. Between the values of the table, a
// straight line.
std::uint64_t MinusLog(std::uint64_t hash) {
  if (hash == std::numeric_limits<std::uint64_t>::max()) return 1;
  const std::uint64_t x = hash + 1;
  const int zeros = std::countl_zero(x);
  const std::uint64_t mantissa = (x << zeros) << 1 >> 1;  // without the leading one
  const std::uint64_t index = mantissa >> (63 - kTableBits);
  const std::uint64_t rest = (mantissa >> (63 - kTableBits - 20)) & ((1u << 20) - 1);
  const std::uint64_t step = kLogs[index + 1] - kLogs[index];
  const std::uint64_t log = kLogs[index] + ((step * rest) >> 20);
  return ((static_cast<std::uint64_t>(zeros) + 1) << kFraction) - log + 1;
}

// What decides which replicas a node is.
MemberFact Copy(const MemberFact& fact) {
  MemberFact copy;
  copy.node = fact.node;
  copy.zone = fact.zone;
  copy.labels = fact.labels;
  copy.weight = fact.weight;
  return copy;
}

}  // namespace

// A node that changed in what matters both went and came.
Standbys::Arrivals Standbys::TakeNodes(const std::vector<const MemberFact*>& nodes) {
  Arrivals arrivals{.came = {}, .gone = std::vector<bool>(nodes_.size(), false)};
  std::vector<bool> present(nodes_.size(), false);
  for (const MemberFact* fact : nodes) {
    const auto known = numbers_.find(fact->node);
    if (known == numbers_.end()) continue;
    const Number number = known->second;
    present[number] = true;
    MemberFact copy = Copy(*fact);
    if (nodes_[number].fact == copy) continue;
    nodes_[number].fact = std::move(copy);
    arrivals.gone[number] = true;
    arrivals.came.push_back(number);
  }
  for (auto entry = numbers_.begin(); entry != numbers_.end();) {
    const Number number = entry->second;
    if (present[number]) {
      ++entry;
      continue;
    }
    arrivals.gone[number] = true;
    nodes_[number] = Node{};
    entry = numbers_.erase(entry);
  }
  std::size_t next = 0;
  for (const MemberFact* fact : nodes) {
    if (numbers_.contains(fact->node)) continue;
    while (next < nodes_.size() && !nodes_[next].fact.node.empty()) ++next;
    if (next == nodes_.size()) nodes_.emplace_back();
    nodes_[next] = Node{.fact = Copy(*fact), .hash = HashOf(fact->node)};
    numbers_[fact->node] = static_cast<Number>(next);
    arrivals.came.push_back(static_cast<Number>(next));
  }
  arrivals.gone.resize(nodes_.size(), false);
  return arrivals;
}

Standbys::Pool Standbys::PoolOf(const PlacementRule& rule) const {
  Pool pool;
  pool.replicas = rule.standbys > 0 ? rule.standbys + 1 : 0;
  if (pool.replicas == 0) return pool;
  pool.tier.assign(nodes_.size(), 0);
  pool.value.assign(nodes_.size(), 0);
  pool.allowed.assign(nodes_.size(), false);
  std::map<std::string, std::uint32_t> values;
  std::set<std::uint32_t> weights;
  for (const auto& [id, number] : numbers_) {
    const MemberFact& fact = nodes_[number].fact;
    if (!fact.Fits(rule.require)) continue;
    pool.allowed[number] = true;
    pool.nodes.push_back(number);
    weights.insert(fact.weight);
    while (pool.tier[number] < rule.prefer.size() && !fact.Fits(rule.prefer[pool.tier[number]])) {
      ++pool.tier[number];
    }
    const auto next = static_cast<std::uint32_t>(values.size());
    pool.value[number] = values.try_emplace(fact.Label(rule.spread), next).first->second;
  }
  pool.weighted = weights.size() > 1;
  return pool;
}

// Whether the shard's order has a before b, without regard to `spread`. Of two nodes with weights w
// and minus-logarithms l, the one with the greater w / l comes first.
bool Standbys::Better(const Pool& pool, ShardId shard, Number a, Number b) const {
  if (pool.tier[a] != pool.tier[b]) return pool.tier[a] < pool.tier[b];
  const std::uint64_t hash_a = Mix(nodes_[a].hash, shard);
  const std::uint64_t hash_b = Mix(nodes_[b].hash, shard);
  if (pool.weighted) {
    const std::uint64_t left = nodes_[a].fact.weight * MinusLog(hash_b);
    const std::uint64_t right = nodes_[b].fact.weight * MinusLog(hash_a);
    if (left != right) return left > right;
  }
  if (hash_a != hash_b) return hash_a > hash_b;
  return nodes_[a].fact.node < nodes_[b].fact.node;
}

void Standbys::Choose(const Pool& pool, ShardId shard, std::vector<Number> from,
                      std::vector<Number>& chosen) const {
  chosen.clear();
  std::array<std::uint32_t, kMaxStandbys + 1> values{};
  const auto shared = [&](Number node) {
    return std::count(values.begin(), values.begin() + std::ssize(chosen), pool.value[node]);
  };
  while (chosen.size() < pool.replicas && !from.empty()) {
    std::size_t best = 0;
    auto fewest = shared(from[0]);
    for (std::size_t i = 1; i < from.size(); ++i) {
      const auto count = shared(from[i]);
      if (count > fewest) continue;
      if (count == fewest && !Better(pool, shard, from[i], from[best])) continue;
      best = i;
      fewest = count;
    }
    values[chosen.size()] = pool.value[from[best]];
    chosen.push_back(from[best]);
    from[best] = from.back();
    from.pop_back();
  }
}

// Takes the rules and makes room for the replicas. Returns whether all replicas must be chosen
// again.
bool Standbys::TakeRules(const ShardRules& rules, std::uint32_t shards) {
  const bool same_size = empty() || rule_of_.size() == shards;
  if (rules.placement() == placement_ && same_size) return false;
  placement_ = rules.placement();
  stride_ = 0;
  for (const PlacementRule& rule : placement_) {
    if (rule.standbys > 0) stride_ = std::max<std::size_t>(stride_, rule.standbys + 1u);
  }
  rule_of_.assign(empty() ? 0 : shards, 0);
  for (std::uint32_t s = 0; s < rule_of_.size(); ++s) {
    rule_of_[s] = static_cast<std::uint8_t>(rules.NumberOf(ShardId{s}));
  }
  return true;
}

// A node that came takes its place among the replicas that were chosen before, or takes none: it
// never makes room for a node that was not chosen. So the choice is among these. If a replica went
// away, the choice is among all nodes.
bool Standbys::ChooseAgain(ShardId shard, const Arrivals& arrivals, bool all) {
  const std::size_t rule = rule_of_[shard.value];
  if (rule >= pools_.size() || pools_[rule].replicas == 0) return false;
  const Pool& pool = pools_[rule];
  Number* const slots = slots_.data() + shard.value * stride_;
  std::vector<Number> before(slots, std::find(slots, slots + stride_, kFree));
  const bool lost =
      std::any_of(before.begin(), before.end(), [&](Number node) { return arrivals.gone[node]; });
  if (!all && !lost && arrivals.came.empty()) return false;
  std::vector<Number> from = before;
  if (all || lost) {
    from = pool.nodes;
  } else {
    std::copy_if(arrivals.came.begin(), arrivals.came.end(), std::back_inserter(from),
                 [&](Number node) { return pool.allowed[node]; });
    if (from.size() == before.size()) return false;
  }
  std::vector<Number> chosen;
  Choose(pool, shard, std::move(from), chosen);
  if (chosen == before && !lost) return false;
  std::fill(std::copy(chosen.begin(), chosen.end(), slots), slots + stride_, kFree);
  return true;
}

std::vector<ShardId> Standbys::Update(const ShardRules& rules, std::uint32_t shards,
                                      const std::vector<const MemberFact*>& nodes) {
  const bool had = !empty();
  std::vector<ShardId> changed;
  const bool all = TakeRules(rules, shards);
  if (empty()) {
    for (std::uint32_t s = 0; had && s < shards; ++s) changed.push_back(ShardId{s});
    slots_.clear();
    nodes_.clear();
    numbers_.clear();
    pools_.clear();
    return changed;
  }
  if (all) slots_.assign(rule_of_.size() * stride_, kFree);
  const Arrivals arrivals = TakeNodes(nodes);
  const bool left =
      std::find(arrivals.gone.begin(), arrivals.gone.end(), true) != arrivals.gone.end();
  if (!all && !left && arrivals.came.empty()) return changed;
  pools_.clear();
  for (const PlacementRule& rule : placement_) pools_.push_back(PoolOf(rule));
  for (std::uint32_t s = 0; s < shards; ++s) {
    if (ChooseAgain(ShardId{s}, arrivals, all) || all) changed.push_back(ShardId{s});
  }
  return changed;
}

std::uint32_t Standbys::Wanted(ShardId shard) const {
  if (empty()) return 0;
  const std::size_t rule = rule_of_.at(shard.value);
  return rule < placement_.size() ? placement_[rule].standbys : 0;
}

std::vector<NodeId> Standbys::ReplicasOf(ShardId shard) const {
  std::vector<NodeId> replicas;
  for (const Number node : NumbersOf(shard)) replicas.push_back(nodes_[node].fact.node);
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
  const auto is_leader = [&](Number node) { return nodes_[node].fact.node == leader->node; };
  const auto found = std::find_if(replicas.begin(), replicas.end(), is_leader);
  if (found != replicas.end()) return *found;
  if (replicas.size() <= Wanted(shard)) return kFree;
  const std::string& spread = placement_[rule_of_[shard.value]].spread;
  const auto shares = [&](Number node) {
    return nodes_[node].fact.Label(spread) == leader->Label(spread);
  };
  const auto last = std::find_if(replicas.rbegin(), replicas.rend(), shares);
  return last != replicas.rend() ? *last : replicas.back();
}

std::vector<NodeId> Standbys::Of(ShardId shard, const MemberFact* leader) const {
  const Number idle = IdleReplica(shard, leader);
  std::vector<NodeId> standbys;
  for (const Number node : NumbersOf(shard)) {
    if (node != idle) standbys.push_back(nodes_[node].fact.node);
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
