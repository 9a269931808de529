// EventMetrics: counts and durations that a status does not have, because only the node's events
// show them. Counts begin when this object is made, and never go back.
//
// Thread-safe. The node's loop calls OnTransition and OnHandoffPhase; scrapes call the other
// methods. Each call holds a lock for a moment.
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

/// The events of one shard that this node counted. EventMetrics keeps a ShardHistory for each shard
/// that the node ever led: at most one for each shard of the group.
struct ShardHistory {
  /// How often this node gained the shard, by reason. A resumption also counts (Reason::kResumed).
  std::array<std::uint64_t, kReasonCount> gained{};
  Term term;                                    ///< the term of the newest leadership
  std::chrono::system_clock::time_point since;  ///< when this leadership began, before `acquired`
};

class EventMetrics : public Observer {
 public:
  EventMetrics();

  /// Ignores suspensions, and transitions that have no new leader. REQUIRES: `transition` has
  /// `detect_at_most` only with kLeaseExpired, and `detect` only with kProcessDied; otherwise
  /// throws std::out_of_range.
  void OnTransition(const Transition& transition) override;
  void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) override;

  /// Returns histograms of the gaps without a leader, in seconds, with the labels `reason` and
  /// `phase`. Each reason except kSuspended has the phases elect and activate. In addition,
  /// kLeaseExpired has detect_at_most, and kProcessDied has detect. All histograms exist from the
  /// start.
  std::vector<prometheus::ClientMetric> Leaderless() const;
  /// Returns a histogram for each phase of a handoff, in seconds, with the label `phase`. The
  /// histograms of prepare, release and transfer exist from the start. Any other phase has a
  /// histogram once OnHandoffPhase was called with it.
  std::vector<prometheus::ClientMetric> Handoffs() const;

  /// Returns the history of each shard in `led`, in the same order. `led` has shards with the terms
  /// of their present leaderships. If no event showed a leadership, the leadership counts as begun
  /// at the first call of Histories that names it. If an event has shown a newer leadership
  /// already, the history has the newer term.
  std::vector<ShardHistory> Histories(const std::vector<std::pair<ShardId, Term>>& led);

 private:
  using GapKey = std::pair<Reason, std::string>;  // reason, phase

  mutable std::mutex mutex_;  // guards the maps; histograms have their own locks
  std::map<GapKey, prometheus::Histogram> gaps_;
  std::map<std::string, prometheus::Histogram> handoffs_;
  std::unordered_map<ShardId, ShardHistory> shards_;
};

}  // namespace baton::runtime
