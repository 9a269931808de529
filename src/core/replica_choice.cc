#include "core/replica_choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace baton::core {
namespace {

// The shard adds this to the hash of each node.
std::uint64_t OffsetOf(ShardId shard) { return (shard.value + 1ull) * 0x9e3779b97f4a7c15ull; }

// Mixes node and shard so that each bit of both decides about each bit of the result (the last
// steps of SplitMix64).
std::uint64_t Mix(std::uint64_t node, std::uint64_t offset) {
  std::uint64_t x = node + offset;
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
// straight line. Never grows with the hash.
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

// The work that a run asks for beside its scores, in scores.
constexpr std::size_t kCostOfRun = 4;

}  // namespace

// FNV-1a.
std::uint64_t HashOfNode(const NodeId& id) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

ReplicaChoice::ReplicaChoice(std::vector<Node> nodes, std::uint32_t replicas)
    : replicas_(replicas), nodes_(std::move(nodes)), order_(nodes_.size()) {
  const auto kind = [](const Node& node) { return std::tuple(node.value, node.tier, node.weight); };
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return kind(nodes_[a]) < kind(nodes_[b]);
  });
  const std::vector<Node> by_id = nodes_;
  for (std::size_t p = 0; p < order_.size(); ++p) {
    const Node& node = nodes_[p] = by_id[order_[p]];
    hashes_.push_back(node.hash);
    if (position_.size() <= node.number) position_.resize(node.number + 1, kNowhere);
    position_[node.number] = static_cast<std::uint32_t>(p);
    if (p == 0 || node.value != nodes_[p - 1].value) bins_.push_back({runs_.size(), runs_.size()});
    if (p == 0 || kind(node) != kind(nodes_[p - 1])) {
      runs_.push_back({p, p});
      ++bins_.back().end;
    }
    ++runs_.back().end;
  }
  // If there are enough values, no two replicas share one.
  depth_ = bins_.size() >= replicas_ ? 1 : replicas_;
}

std::size_t ReplicaChoice::Cost() const { return nodes_.size() + kCostOfRun * runs_.size(); }

ReplicaChoice::Scored ReplicaChoice::ScoreOf(ShardId shard, Number number) const {
  BATON_CHECK(Has(number));
  const std::uint32_t position = position_[number];
  return {Mix(hashes_[position], OffsetOf(shard)), position};
}

// Whether the shard's order has a before b, without regard to `spread`. Of two nodes with weights w
// and minus-logarithms l, the one with the greater w / l comes first.
bool ReplicaChoice::Before(const Scored& a, const Scored& b) const {
  const Node& node_a = nodes_[a.position];
  const Node& node_b = nodes_[b.position];
  if (node_a.tier != node_b.tier) return node_a.tier < node_b.tier;
  if (node_a.weight != node_b.weight) {
    const std::uint64_t left = node_a.weight * MinusLog(b.score);
    const std::uint64_t right = node_b.weight * MinusLog(a.score);
    if (left != right) return left > right;
  }
  if (a.score != b.score) return a.score > b.score;
  return order_[a.position] < order_[b.position];
}

// The best of the run, in their order. Nearly every node of a long run only meets the comparison.
void ReplicaChoice::Gather(const Run& run, ShardId shard) {
  const std::uint64_t offset = OffsetOf(shard);
  of_run_.clear();
  for (std::size_t p = run.begin; p < run.end; ++p) {
    const std::uint64_t score = Mix(hashes_[p], offset);
    const bool full = of_run_.size() == depth_;
    if (full && score <= of_run_.back().score) continue;
    if (full) of_run_.pop_back();
    auto place = of_run_.end();
    while (place != of_run_.begin() && (place - 1)->score < score) --place;
    of_run_.insert(place, {score, static_cast<std::uint32_t>(p)});
  }
}

void ReplicaChoice::Keep(const Scored& scored) {
  if (best_.size() == depth_) {
    if (!Before(scored, best_.back())) return;
    best_.pop_back();
  }
  auto place = best_.end();
  while (place != best_.begin() && Before(scored, *(place - 1))) --place;
  best_.insert(place, scored);
}

// The best of the bin, in their order.
void ReplicaChoice::Fill(const Bin& bin, ShardId shard) {
  best_.clear();
  for (std::size_t r = bin.begin; r < bin.end; ++r) {
    const bool full = best_.size() == depth_;
    if (full && nodes_[best_.back().position].tier < nodes_[runs_[r].begin].tier) return;
    Gather(runs_[r], shard);
    for (const Scored& scored : of_run_) Keep(scored);
  }
}

// Of two nodes with different values of the `spread` label, the one comes first before which fewer
// nodes of its own value come.
bool ReplicaChoice::Before(const Ranked& a, const Ranked& b) const {
  return a.rank != b.rank ? a.rank < b.rank : Before(a.scored, b.scored);
}

std::span<const ReplicaChoice::Number> ReplicaChoice::Choose(ShardId shard) {
  ranked_.clear();
  for (const Bin& bin : bins_) {
    Fill(bin, shard);
    for (std::uint32_t rank = 0; rank < best_.size(); ++rank) {
      Insert({best_[rank], rank}, ranked_);
    }
  }
  chosen_.clear();
  for (const Ranked& ranked : ranked_) chosen_.push_back(nodes_[ranked.scored.position].number);
  return chosen_;
}

// Keeps `ranked` sorted, and no longer than a shard's replicas.
void ReplicaChoice::Insert(const Ranked& added, std::vector<Ranked>& ranked) const {
  if (ranked.size() == replicas_) {
    if (!Before(added, ranked.back())) return;
    ranked.pop_back();
  }
  auto place = ranked.end();
  while (place != ranked.begin() && Before(added, *(place - 1))) --place;
  ranked.insert(place, added);
}

bool ReplicaChoice::Add(ShardId shard, Number number, std::vector<Number>& chosen) {
  Ranked added{ScoreOf(shard, number), 0};
  const bool full = chosen.size() == replicas_;
  if (full && bins_.size() == 1 && !Before(added.scored, ScoreOf(shard, chosen.back()))) {
    return false;
  }
  ranked_.clear();
  for (const Number replica : chosen) {
    Ranked ranked{ScoreOf(shard, replica), 0};
    const std::uint32_t value = ValueOf(ranked.scored);
    for (const Ranked& earlier : ranked_) ranked.rank += ValueOf(earlier.scored) == value ? 1 : 0;
    if (value == ValueOf(added.scored) && Before(ranked.scored, added.scored)) ++added.rank;
    ranked_.push_back(ranked);
  }
  if (full && !Before(added, ranked_.back())) return false;
  for (Ranked& ranked : ranked_) {
    const bool behind =
        ValueOf(ranked.scored) == ValueOf(added.scored) && ranked.rank >= added.rank;
    if (behind) ++ranked.rank;
  }
  std::sort(ranked_.begin(), ranked_.end(),
            [this](const Ranked& a, const Ranked& b) { return Before(a, b); });
  Insert(added, ranked_);
  chosen.clear();
  for (const Ranked& ranked : ranked_) chosen.push_back(nodes_[ranked.scored.position].number);
  return true;
}

}  // namespace baton::core
