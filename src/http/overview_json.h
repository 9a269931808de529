// `/v1/overview`: one document with everything that the node's page shows.
//
// The page asks for the document every second and after each transition.
//
// A pure function of its sources; any thread. Field names are stable. Fields whose names end in _ms
// are in milliseconds, as in status_json.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "http/shard_ages.h"
#include "runtime/control.h"

namespace baton::http {

/// The most shards in the list "shards" of "attention". "counts" and "grid" have all shards.
inline constexpr std::size_t kMaxListed = 200;
/// The most nodes that are named for one problem.
inline constexpr std::size_t kMaxNamed = 8;

struct OverviewSources {
  const runtime::NodeStatus& status;
  const ShardAges& ages;
  const runtime::Control& control;              ///< for the counts of calls to etcd
  std::chrono::system_clock::time_point taken;  ///< when `status` was made, by this host's clock
};

/// The fields of StatusJson, and these:
///   - "taken_ms": OverviewSources::taken, in ms since 1970, to compare with the times of events;
///   - "etcd": "calls" (all calls to etcd since the process started), "failed" (those that failed),
///     and "seconds" (the total time of all calls);
///   - "grid": "nodes" (names), "leaders" (for each shard an index into "nodes"; -1: nobody leads
///     it), "states" and "reasons" (for each shard one letter; "state_letters" and "reason_letters"
///     explain them);
///   - "attention": an object with these fields:
///       - "counts": the number of shards with each problem (http/attention.h);
///       - "nodes": for each problem, at most kMaxNamed leaders of shards with this problem. If
///         nobody leads a shard, its last leader counts. A problem without nodes is left out;
///       - "shards": at most kMaxListed shards that need attention, the worst first. Each has the
///         fields of ShardFields, and "problem", "for_ms" and "at_least" (see ShardAge);
///   - "moving_ms": for each shard with a live move, by shard number: a lower bound of the time for
///     which the shard has had its present term and state; 0 if not known yet.
/// REQUIRES (not checked): the status has its shards.
std::string OverviewJson(const OverviewSources& sources);

}  // namespace baton::http
