// NodeCounters: the counts of a node, and those of its guard. Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "baton/types.h"

namespace baton::runtime {

/// Counts since the node started. They never decrease. (`log_records_dropped` may begin above 0.)
struct NodeCounters {
  /// Changes of leadership, by reason. One node counts each change: the node that gained the shard,
  /// or the balancer if nobody may take the shard over. A leader also counts each of its shards
  /// that is suspended (kSuspended) or led again (kResumed).
  std::map<Reason, std::uint64_t> transitions;
  /// Moves, by result. Several nodes may count the same move. A relay has no entries.
  ///  - "done", "refused": transfers that this node sent as leader.
  ///  - "void": moves that this node deleted as balancer, because they could not be carried out.
  ///  - "timed_out": moves whose `prepare` or `releasing` took too long here. Also moves that this
  ///    node deleted as balancer, because they made no progress. A deletion counts when it is sent.
  std::map<std::string, std::uint64_t> moves;
  std::uint64_t renewals_confirmed = 0;
  std::uint64_t renewals_failed = 0;
  std::uint64_t watch_resyncs = 0;       ///< how often etcd had compacted what the watch needed
  std::uint64_t watch_stale_events = 0;  ///< how many revisions came again, and were dropped
  /// Records of shards and members that this node could not read in whole: RecordNews::damaged.
  std::uint64_t records_quarantined = 0;
  std::uint64_t callbacks_timed_out = 0;  ///< of `prepare`, `acquired` and `releasing`
  /// Callbacks that threw or failed. Some are not counted:
  ///  - `suspended`, `resumed`, `transitioned` and `halted`.
  ///  - A `prepare` or `releasing` that fails after its timeout.
  ///  - A `prepare`, `acquired` or `releasing` that fails after its move or leadership has ended.
  std::uint64_t callbacks_failed = 0;
  /// Tries of `acquired` that failed or exceeded callback_timeout. A try that exceeds
  /// callback_timeout and then fails counts twice.
  std::uint64_t activation_failures = 0;
  std::uint64_t log_records_dropped = 0;  ///< NodeLog::Dropped
  /// Operators' changes that were refused, because too many changes waited for etcd.
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
