// EventMetrics: what only events tell (durations, and what happened to each shard), kept between
// scrapes. Written on the node's loop thread, read by scrapes; each call holds a lock for a moment.
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

/// What this node counted of one shard. A node keeps one for each shard it ever gained: at most the
/// group's shard count.
struct ShardHistory {
  std::array<std::uint64_t, kReasonCount> gained{};  ///< by reason
  Term term;                                         ///< the newest leadership's
  std::chrono::system_clock::time_point since;       ///< when that leadership began
};

class EventMetrics : public Observer {
 public:
  EventMetrics();

  void OnTransition(const Transition& transition) override;
  void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) override;

  /// One histogram for each (reason, phase) that there can be; labels `reason` and `phase`.
  std::vector<prometheus::ClientMetric> Leaderless() const;
  std::vector<prometheus::ClientMetric> Handoffs() const;

  /// What is known of each of these shards, whose present leaderships have these terms. A
  /// leadership that no event told of counts from now.
  std::vector<ShardHistory> Histories(const std::vector<std::pair<ShardId, Term>>& led);

 private:
  using GapKey = std::pair<Reason, std::string>;  // reason, phase

  mutable std::mutex mutex_;  // the maps; histograms lock themselves
  std::map<GapKey, prometheus::Histogram> gaps_;
  std::map<std::string, prometheus::Histogram> handoffs_;
  std::unordered_map<ShardId, ShardHistory> shards_;
};

}  // namespace baton::runtime
