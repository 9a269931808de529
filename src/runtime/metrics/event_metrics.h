// EventMetrics: collects what only events tell (durations, and each shard's history) between
// scrapes. The node's loop writes it, and scrapes read it; each call holds a lock for a moment.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/histogram.h>

#include "runtime/control.h"

namespace baton::runtime {

/// What this node counted for one shard. It keeps one for each shard that it ever gained, so at
/// most as many as the group has shards.
struct ShardHistory {
  std::array<std::uint64_t, kReasonCount> gained{};  ///< by reason
  Term term;                                         ///< of the newest leadership
  std::chrono::system_clock::time_point since;       ///< when that leadership began
};

class EventMetrics : public Observer {
 public:
  EventMetrics();

  void OnTransition(const Transition& transition) override;
  void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) override;

  /// One histogram for each possible (reason, phase), with the labels `reason` and `phase`.
  std::vector<prometheus::ClientMetric> Leaderless() const;
  std::vector<prometheus::ClientMetric> Handoffs() const;

  /// The history of each of these shards, given the terms of their present leaderships. If no event
  /// told of a leadership, it counts as beginning now.
  std::vector<ShardHistory> Histories(const std::vector<std::pair<ShardId, Term>>& led);

 private:
  using GapKey = std::pair<Reason, std::string>;  // reason, phase

  mutable std::mutex mutex_;  // guards the maps; histograms have their own locks
  std::map<GapKey, prometheus::Histogram> gaps_;
  std::map<std::string, prometheus::Histogram> handoffs_;
  std::unordered_map<ShardId, ShardHistory> shards_;
};

}  // namespace baton::runtime
