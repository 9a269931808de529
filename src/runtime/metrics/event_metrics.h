// EventMetrics: counts what a status does not show, because only events show it: durations, and
// each shard's history. Counts begin when this object is made, and never go back.
//
// Thread-safe: the node's loop calls the Observer's methods, and scrapes call the others. Each call
// holds a lock for a moment.
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

/// The events of one shard that this node counted. EventMetrics keeps one of these for each shard
/// that the node ever led, for ever. So it keeps at most as many as the group has shards.
struct ShardHistory {
  /// How often this node gained the shard, by reason. A resumption counts, too (Reason::kResumed).
  std::array<std::uint64_t, kReasonCount> gained{};
  Term term;                                    ///< of the newest leadership
  std::chrono::system_clock::time_point since;  ///< when that leadership began
};

class EventMetrics : public Observer {
 public:
  EventMetrics();

  /// Ignores transitions that have no new leader. REQUIRES: `transition` has detect_at_most only
  /// with kLeaseExpired, and detect only with kProcessDied (else throws std::out_of_range).
  void OnTransition(const Transition& transition) override;
  void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) override;

  /// The gaps without a leader, in seconds: one histogram for each possible (reason, phase), with
  /// the labels `reason` and `phase`. Each reason but kSuspended has the phases elect and activate.
  /// In addition, kLeaseExpired has detect_at_most, and kProcessDied has detect. All histograms
  /// exist from the start.
  std::vector<prometheus::ClientMetric> Leaderless() const;
  /// One histogram for each phase of a handoff, in seconds, with the label `phase`. Those of
  /// prepare, release and transfer exist from the start; others if OnHandoffPhase got them.
  std::vector<prometheus::ClientMetric> Handoffs() const;

  /// Returns the history of each of these shards, in the order of `led`. `led`: shards, with the
  /// terms of their present leaderships. A leadership that no event showed counts as beginning at
  /// the first call that names it.
  std::vector<ShardHistory> Histories(const std::vector<std::pair<ShardId, Term>>& led);

 private:
  using GapKey = std::pair<Reason, std::string>;  // reason, phase

  mutable std::mutex mutex_;  // guards the maps; histograms have their own locks
  std::map<GapKey, prometheus::Histogram> gaps_;
  std::map<std::string, prometheus::Histogram> handoffs_;
  std::unordered_map<ShardId, ShardHistory> shards_;
};

}  // namespace baton::runtime
