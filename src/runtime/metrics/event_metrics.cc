#include "runtime/metrics/event_metrics.h"

#include <cstddef>

namespace baton::runtime {
namespace {

constexpr const char* kDetect = "detect";
constexpr const char* kDetectAtMost = "detect_at_most";
constexpr const char* kElect = "elect";
constexpr const char* kActivate = "activate";

// A clean handoff takes milliseconds, an expired lease the TTL, and an operator's mistake minutes.
const prometheus::Histogram::BucketBoundaries kGapBounds = {
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300};
const prometheus::Histogram::BucketBoundaries kHandoffBounds = {
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

EventMetrics::EventMetrics() {
  // Series that exist from the start let rate() see their first increment.
  for (int i = 0; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    if (reason == Reason::kSuspended) continue;  // it never ends a gap
    gaps_.try_emplace(GapKey(reason, kElect), kGapBounds);
    gaps_.try_emplace(GapKey(reason, kActivate), kGapBounds);
  }
  gaps_.try_emplace(GapKey(Reason::kLeaseExpired, kDetectAtMost), kGapBounds);
  gaps_.try_emplace(GapKey(Reason::kProcessDied, kDetect), kGapBounds);
  for (const char* phase : {"prepare", "release", "transfer"}) {
    handoffs_.try_emplace(phase, kHandoffBounds);
  }
}

void EventMetrics::OnTransition(const Transition& transition) {
  if (transition.to.empty() || transition.reason == Reason::kSuspended) return;
  const std::lock_guard lock(mutex_);
  if (transition.detect_at_most) {
    gaps_.at(GapKey(transition.reason, kDetectAtMost)).Observe(Seconds(*transition.detect_at_most));
  }
  if (transition.detect) {
    gaps_.at(GapKey(transition.reason, kDetect)).Observe(Seconds(*transition.detect));
  }
  gaps_.at(GapKey(transition.reason, kElect)).Observe(Seconds(transition.elect));
  gaps_.at(GapKey(transition.reason, kActivate)).Observe(Seconds(transition.activate));
  ShardHistory& history = shards_[transition.shard];
  ++history.gained[static_cast<std::size_t>(transition.reason)];
  if (history.term == transition.term) return;  // a resumption: the leadership is the same
  history.term = transition.term;
  history.since =
      std::chrono::system_clock::now() -
      std::chrono::duration_cast<std::chrono::system_clock::duration>(transition.activate);
}

void EventMetrics::OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) {
  const std::lock_guard lock(mutex_);
  handoffs_.try_emplace(phase, kHandoffBounds).first->second.Observe(Seconds(took));
}

std::vector<prometheus::ClientMetric> EventMetrics::Leaderless() const {
  const std::lock_guard lock(mutex_);
  std::vector<prometheus::ClientMetric> series;
  for (const auto& [key, histogram] : gaps_) {
    series.push_back(histogram.Collect());
    series.back().label = {{"reason", ToString(key.first)}, {"phase", key.second}};
  }
  return series;
}

std::vector<prometheus::ClientMetric> EventMetrics::Handoffs() const {
  const std::lock_guard lock(mutex_);
  std::vector<prometheus::ClientMetric> series;
  for (const auto& [phase, histogram] : handoffs_) {
    series.push_back(histogram.Collect());
    series.back().label = {{"phase", phase}};
  }
  return series;
}

std::vector<ShardHistory> EventMetrics::Histories(
    const std::vector<std::pair<ShardId, Term>>& led) {
  std::vector<ShardHistory> histories;
  histories.reserve(led.size());
  const auto now = std::chrono::system_clock::now();
  const std::lock_guard lock(mutex_);
  for (const auto& [shard, term] : led) {
    ShardHistory& history = shards_[shard];
    if (history.term < term) {
      history.term = term;
      history.since = now;
    }
    histories.push_back(history);
  }
  return histories;
}

}  // namespace baton::runtime
