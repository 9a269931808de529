#include "app/demo/observer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace baton::app {
namespace {

constexpr std::chrono::microseconds kSamplePause{200};

TimePoint TimeOf(std::int64_t count) { return TimePoint(Duration(count)); }

}  // namespace

DemoObserver::DemoObserver(std::uint32_t shards)
    : started_(BootClock::now()), shards_(shards), thread_([this] {
        Sample();
        return kSamplePause;
      }) {
  const std::lock_guard lock(mutex_);
  for (Shard& shard : shards_) shard.left = started_;
}

NodeIndex DemoObserver::Add(const std::string& node, DemoBoard& board) {
  const std::lock_guard lock(mutex_);
  Watched watched;
  watched.name = node;
  watched.board = &board;
  watched.words.resize(shards_.size());
  nodes_.push_back(std::move(watched));
  return nodes_.size() - 1;
}

void DemoObserver::Killed(NodeIndex node) {
  const std::lock_guard lock(mutex_);
  Leave(node, BootClock::now());
  nodes_[node].life = Life::kDead;
}

void DemoObserver::Stopped(NodeIndex node) {
  const std::lock_guard lock(mutex_);
  Leave(node, BootClock::now());
  nodes_[node].life = Life::kStopped;
}

void DemoObserver::Woken(NodeIndex node) {
  const std::lock_guard lock(mutex_);
  nodes_[node].woken = BootClock::now();
  nodes_[node].life = Life::kWaking;
}

// The node can't act any more: nobody leads its shards from now on.
void DemoObserver::Leave(NodeIndex node, TimePoint now) {
  for (Shard& shard : shards_) {
    if (shard.leader != node || !shard.acts) continue;
    shard.acts = false;
    shard.activated = false;
    shard.left = now;
  }
  std::fill(nodes_[node].words.begin(), nodes_[node].words.end(), 0);
  std::erase_if(doubts_, [node](const Doubt& doubt) { return doubt.node == node; });
}

void DemoObserver::Sample() {
  const std::lock_guard lock(mutex_);
  for (NodeIndex node = 0; node < nodes_.size(); ++node) Look(node);
  JudgeDoubts();
  ++samples_;
}

void DemoObserver::Look(NodeIndex node) {
  Watched& watched = nodes_[node];
  if (watched.life == Life::kDead || watched.life == Life::kStopped) return;
  const auto& head = watched.board->head();
  if (watched.life == Life::kWaking) {
    if (TimeOf(head.swept_from.load(std::memory_order_acquire)) < watched.woken) return;
    watched.life = Life::kRunning;
    watched.changes = UINT64_MAX;
  }
  const std::uint64_t changes = head.changes.load(std::memory_order_acquire);
  if (changes == watched.changes) return;
  watched.changes = changes;
  const auto words = watched.board->words();
  for (std::uint32_t shard = 0; shard < words.size(); ++shard) {
    const BoardWord word = words[shard].load(std::memory_order_acquire);
    if (word != watched.words[shard]) TakeWord(node, shard, word);
  }
}

void DemoObserver::TakeWord(NodeIndex node, std::uint32_t index, BoardWord word) {
  const TimePoint now = BootClock::now();  // after the word was read, which is older
  const BoardWord before = std::exchange(nodes_[node].words[index], word);
  Shard& shard = shards_[index];
  const bool newest = shard.leader == node && shard.term.value == TermIn(before);
  if (newest && shard.acts && TermIn(word) != TermIn(before)) {
    shard.acts = false;
    shard.activated = false;
    shard.left = now;
  }
  if (word != 0) TakeClaim(node, index, word, now);
}

void DemoObserver::TakeClaim(NodeIndex node, std::uint32_t index, BoardWord word, TimePoint now) {
  Shard& shard = shards_[index];
  const Term term{TermIn(word)};
  const std::string words =
      fmt::format("shard {}: {} leads in term {}", index, nodes_[node].name, term.value);
  if (term < shard.term) {
    doubts_.push_back({node, ShardId{index}, word, shard.seen});
    return;
  }
  if (term == shard.term && shard.leader != node) {
    return Violate(fmt::format("{}, and so does {}", words, nodes_[shard.leader].name));
  }
  if (term > shard.term) {
    // The former leader's word may be a sweep old; it must be gone in the next sweep.
    if (shard.leader != kNobody && shard.leader != node) {
      const BoardWord old = nodes_[shard.leader].words[index];
      if (old != 0) doubts_.push_back({shard.leader, ShardId{index}, old, now});
    }
    // The new leadership was seen before the old one's end: the gap is too short to measure.
    if (shard.acts) shard.left = now;
    shard.activated = false;
    shard.before = shard.leader;
    shard.leader = node;
    shard.term = term;
    shard.seen = now;
  }
  shard.acts = true;
  if (ActivatedIn(word) && !shard.activated) TakeActivation(index, now);
}

void DemoObserver::TakeActivation(std::uint32_t index, TimePoint now) {
  Shard& shard = shards_[index];
  shard.activated = true;
  changes_.push_back({.shard = ShardId{index},
                      .from = shard.before,
                      .to = shard.leader,
                      .term = shard.term,
                      .left = shard.left,
                      .led = now});
  shard.before = shard.leader;
}

void DemoObserver::JudgeDoubts() {
  std::erase_if(doubts_, [this](const Doubt& doubt) {
    const Watched& watched = nodes_[doubt.node];
    if (watched.words[doubt.shard.value] != doubt.word) return true;
    const auto swept = TimeOf(watched.board->head().swept_from.load(std::memory_order_acquire));
    const auto word = watched.board->words()[doubt.shard.value].load(std::memory_order_acquire);
    if (swept <= doubt.newer_seen) return false;
    if (word == doubt.word) {
      const Shard& shard = shards_[doubt.shard.value];
      Violate(fmt::format("shard {}: {} still leads in term {} after {} led in term {}",
                          doubt.shard.value, watched.name, TermIn(doubt.word),
                          nodes_[shard.leader].name, shard.term.value));
    }
    return true;
  });
}

void DemoObserver::Violate(const std::string& line) {
  ++violations_.count;
  if (violations_.lines.size() < kMaxViolations) violations_.lines.push_back(line);
}

std::vector<SeenShard> DemoObserver::Shards() const {
  const std::lock_guard lock(mutex_);
  std::vector<SeenShard> seen;
  seen.reserve(shards_.size());
  for (const Shard& shard : shards_) {
    seen.push_back(shard.activated ? SeenShard{shard.leader, shard.term} : SeenShard{});
  }
  return seen;
}

std::vector<SeenChange> DemoObserver::Changes(std::size_t from) const {
  const std::lock_guard lock(mutex_);
  BATON_CHECK(from <= changes_.size());
  return {changes_.begin() + static_cast<std::ptrdiff_t>(from), changes_.end()};
}

std::size_t DemoObserver::ChangeCount() const {
  const std::lock_guard lock(mutex_);
  return changes_.size();
}

std::vector<std::uint32_t> DemoObserver::Counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> counts(nodes_.size(), 0);
  for (const Shard& shard : shards_) {
    if (shard.activated) ++counts[shard.leader];
  }
  return counts;
}

std::uint32_t DemoObserver::Leaderless() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(std::count_if(
      shards_.begin(), shards_.end(), [](const Shard& shard) { return !shard.activated; }));
}

std::uint64_t DemoObserver::Samples() const {
  const std::lock_guard lock(mutex_);
  return samples_;
}

SeenViolations DemoObserver::Violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

Duration DemoObserver::Resolution() const {
  const std::lock_guard lock(mutex_);
  Duration sweep{0};
  for (const Watched& watched : nodes_) {
    if (watched.life != Life::kRunning) continue;
    const auto& head = watched.board->head();
    sweep = std::max(sweep, Duration(std::max(head.pause.load(), head.sweep_period.load())));
  }
  return sweep + kSamplePause;
}

Percentiles PercentilesOf(std::vector<Duration> durations) {
  BATON_CHECK(!durations.empty());
  std::sort(durations.begin(), durations.end());
  const auto at = [&](std::size_t percent) {
    // The least value that `percent` of all values don't exceed.
    const std::size_t rank = (durations.size() * percent + 99) / 100;
    return durations[std::max<std::size_t>(rank, 1) - 1];
  };
  return {.p50 = at(50), .p99 = at(99), .max = durations.back()};
}

}  // namespace baton::app
