// NodeCounters: what a node counts, and what is counted of its guard. Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "baton/types.h"

namespace baton::runtime {

/// Counts since the node started, except `log_records_dropped`. They never decrease.
struct NodeCounters {
  /// Changes of leadership, by reason. One node counts each change: the node that gained the shard,
  /// or the balancer if nobody may take the shard over. A leader counts under kSuspended each shard
  /// that is suspended, and under kResumed each shard that is led again.
  std::map<Reason, std::uint64_t> transitions;
  /// Moves, by result. Several nodes may count the same move. A relay has no entries.
  ///  - "done", "refused": transfers that this node sent as leader.
  ///  - "void": moves that this node deleted as balancer, because they could not be carried out.
  ///  - "timed_out": moves whose `prepare` or `releasing` took too long here, and moves that this
  ///    node deleted as balancer, because they made no progress. A deletion counts when it is sent.
  std::map<std::string, std::uint64_t> moves;
  std::uint64_t renewals_confirmed = 0;
  std::uint64_t renewals_failed = 0;
  std::uint64_t watch_resyncs = 0;       ///< etcd had compacted what the watch needed next
  std::uint64_t watch_stale_events = 0;  ///< revisions delivered again, and dropped
  /// Damaged records that this node saw, also of newer schemas: core::RecordNews::damaged.
  std::uint64_t records_quarantined = 0;
  std::uint64_t callbacks_timed_out = 0;  ///< of `prepare`, `acquired` and `releasing`
  /// Callbacks that threw or failed. Not counted: `suspended`, `resumed`, `transitioned` and
  /// `halted`; a `prepare` or `releasing` that fails after its timeout; and a `prepare`, `acquired`
  /// or `releasing` that fails after its move or leadership has ended.
  std::uint64_t callbacks_failed = 0;
  /// Tries of `acquired` that failed or exceeded callback_timeout. A try that exceeds it and fails
  /// afterwards counts twice.
  std::uint64_t activation_failures = 0;
  std::uint64_t log_records_dropped = 0;  ///< NodeLog::Dropped
  /// Operators' changes that were refused because too many waited for etcd.
  std::uint64_t requests_refused = 0;
};

/// The guard that a node starts (OwnGuard), or why no guard can act for the node.
struct GuardCounters {
  bool running = false;
  std::uint64_t starts = 0;  ///< how many guards were started, one after another; 0: none yet
  /// Why no guard can act for this node, as one line. Then the node has started no guard. Empty: a
  /// guard can act.
  std::string cannot_act = {};
};

}  // namespace baton::runtime
