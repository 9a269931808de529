// `/v1/overview`: one document with everything that the node's page shows.
//
// The page asks for it every second and after each transition. Events alone would miss changes that
// have no event: a vacancy, a move, the age of a renewal.
//
// Pure except for reading the ages; any thread. As in status_json.h, names are stable and durations
// are in milliseconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "http/shard_ages.h"
#include "runtime/control.h"

namespace baton::http {

/// The greatest number of listed shards. All are counted, and all are in the grid.
inline constexpr std::size_t kMaxListed = 200;
/// The greatest number of nodes that are named for a problem.
inline constexpr std::size_t kMaxNamed = 8;

struct OverviewSources {
  const runtime::NodeStatus& status;
  const ShardAges& ages;
  const runtime::Control& control;              ///< for the calls to etcd
  std::chrono::system_clock::time_point taken;  ///< when the status was taken, by this host's clock
};

/// The fields of StatusJson, and these:
///   - "taken_ms": milliseconds since 1970 on this host, to compare with the times of events;
///   - "etcd": {"calls", "failed", "seconds"}: all calls to etcd since the start;
///   - "grid": "nodes" (names), "leaders" (for each shard an index into "nodes", -1: nobody),
///     "states" and "reasons" (for each shard one letter; "state_letters" and "reason_letters"
///     explain them). For 100 shards this takes a few hundred bytes, and /v1/shards ten thousand;
///   - "attention": "counts" by problem; "nodes" by problem: the names of the nodes that lead such
///     shards or led them last, at most kMaxNamed; and "shards", the worst first, at most
///     kMaxListed: the fields of ShardFields and "problem", "for_ms", "at_least" (true: it was so
///     already when this process first saw it);
///   - "moving_ms": for each shard with a live move, how long this node has seen it moving.
/// REQUIRES: the status has its shards.
std::string OverviewJson(const OverviewSources& sources);

}  // namespace baton::http
