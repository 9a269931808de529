// `/v1/overview`: what the node's page shows, as one document of one picture.
//
// Pure but for the ages it asks for; any thread. As in status_json.h: stable names, durations in
// milliseconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "http/shard_ages.h"
#include "runtime/control.h"

namespace baton::http {

/// At most this many sick shards are listed; all are counted, and all are on the grid.
inline constexpr std::size_t kMaxListed = 200;
/// At most this many nodes are named for a problem.
inline constexpr std::size_t kMaxNamed = 8;

struct OverviewSources {
  const runtime::NodeStatus& status;
  const ShardAges& ages;
  const runtime::Control& control;              ///< for the calls to etcd
  std::chrono::system_clock::time_point taken;  ///< when the picture was taken, on this host
};

/// The fields of StatusJson, and
/// - "taken_ms": milliseconds since 1970 on this host, for those who compare with events' times;
/// - "etcd": {"calls", "failed", "seconds"}, all calls to etcd since the start;
/// - "grid": "nodes" (names), "leaders" (for each shard an index into them, -1: nobody), "states"
///   and "reasons" (for each shard one letter, explained by "state_letters" and "reason_letters");
///   some hundred bytes for 100 shards, where /v1/shards has ten thousand;
/// - "attention": "counts" by problem; "nodes" by problem, by name, who leads such shards or led
///   them last, at most kMaxNamed; and "shards", the worst first, at most kMaxListed: the fields of
///   /v1/shards and "problem", "for_ms", "at_least" (it was so when this process first saw it),
///   "previous", "reason", "move";
/// - "moving_ms": for each shard with a live move, how long this node has seen it moving.
std::string OverviewJson(const OverviewSources& sources);

}  // namespace baton::http
