// What a node counts. Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "baton/types.h"

namespace baton::runtime {

/// Counts since the node started. They never decrease.
struct NodeCounters {
  std::map<Reason, std::uint64_t> transitions;  ///< the transitions that this node counted
  std::map<std::string, std::uint64_t> moves;   ///< by result: done, void, refused, timed_out
  std::uint64_t renewals_confirmed = 0;
  std::uint64_t renewals_failed = 0;
  std::uint64_t watch_resyncs = 0;
  std::uint64_t watch_stale_events = 0;   ///< events that went back in time and were dropped
  std::uint64_t records_quarantined = 0;  ///< damaged records that this node has seen
  std::uint64_t callbacks_timed_out = 0;
  std::uint64_t callbacks_failed = 0;
  std::uint64_t activation_failures = 0;  ///< failed attempts to activate a shard
  std::uint64_t log_records_dropped = 0;  ///< because the log is read too slowly
  std::uint64_t requests_refused = 0;     ///< operators' changes, because too many waited for etcd
};

/// The node's own guard, which is a process beside it.
struct GuardCounters {
  bool running = false;
  std::uint64_t starts = 0;  ///< 1 if it never ended
};

}  // namespace baton::runtime
