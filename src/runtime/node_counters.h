// NodeCounters: what a node counts, and what is counted of its guard. Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "baton/types.h"

namespace baton::runtime {

/// Counts since the node started, except `log_records_dropped`. They never decrease.
struct NodeCounters {
  /// Changes of leadership. One node counts each: the node that gained the shard, or the balancer
  /// if nobody may take it over. With the reasons kSuspended and kResumed, a leader counts each
  /// suspension of its shards, and each end of one.
  std::map<Reason, std::uint64_t> transitions;
  /// By result. "done", "refused": transfers that this node sent as leader. "void": moves whose
  /// deletion it sent as balancer, because they could not be carried out. "timed_out": moves whose
  /// `prepare` or `releasing` took too long here, and those whose deletion it sent as balancer,
  /// because they made no progress. So several nodes may count the same move. A relay has no
  /// entries.
  std::map<std::string, std::uint64_t> moves;
  std::uint64_t renewals_confirmed = 0;
  std::uint64_t renewals_failed = 0;
  std::uint64_t watch_resyncs = 0;        ///< etcd had compacted what the watch needed next
  std::uint64_t watch_stale_events = 0;   ///< revisions delivered again, and dropped
  std::uint64_t records_quarantined = 0;  ///< see core::RecordNews::damaged; also of newer schemas
  std::uint64_t callbacks_timed_out = 0;  ///< of `prepare`, `acquired` and `releasing`
  /// Callbacks that threw or failed, except `suspended` and `resumed`. Not counted: a `prepare` or
  /// `releasing` after its timeout, and any but `lost` that returns after its shard or move is
  /// gone.
  std::uint64_t callbacks_failed = 0;
  std::uint64_t activation_failures =
      0;  ///< failed tries; one that is late and then fails counts twice
  std::uint64_t log_records_dropped = 0;  ///< NodeLog::Dropped
  /// Operators' changes that were refused because too many waited for etcd.
  std::uint64_t requests_refused = 0;
};

/// The guard that the node was asked to have.
struct GuardCounters {
  bool running = false;
  std::uint64_t starts = 0;  ///< 1 if it never ended; 0: it has not started yet
  /// Why no guard can act for this node, as one line; then it has none. Empty: one can.
  std::string cannot_act = {};
};

}  // namespace baton::runtime
