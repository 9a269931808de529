// The JSON documents of a node's status: API of HTTP's /v1 paths and of `batonctl -o json` alike.
//
// Pure functions, safe from any thread. Field names are stable; new ones may be added. Ids that
// name nobody are null, durations are whole milliseconds and say so in their name, terms and
// revisions are etcd's. One line each, without a trailing newline.
#pragma once

#include <boost/json/object.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/facts.h"
#include "baton/types.h"
#include "runtime/control.h"

namespace baton::http {

/// `/v1/shards`: group, revision, and shards with shard, leader, address, term and state.
std::string ShardsJson(const runtime::NodeStatus& status);

/// `/v1/shards/{s}`: the same fields and reason, previous, move, recent. Unset: no such shard.
std::optional<std::string> ShardJson(const runtime::NodeStatus& status, ShardId shard);

/// What `/v1/shards/{s}` says of the shard itself: all but group, revision and recent.
boost::json::object ShardFields(const runtime::ShardStatus& shard);

/// `/v1/lookup`: group, revision, age_ms (of the view), and the shard's shard, leader, address,
/// term and state. Unset: no such shard.
std::optional<std::string> LookupJson(const runtime::NodeStatus& status, ShardId shard);

struct RoutesPicture {
  std::string group;
  Revision revision;  ///< complete up to here
  std::chrono::nanoseconds age{0};
  bool stale = false;
};
/// `/v1/routes`: group, revision, age_ms and stale, and routes with shard, leader, address, term,
/// state and revision.
std::string RoutesJson(const RoutesPicture& picture, const std::vector<runtime::Route>& routes);

/// `/v1/status`: the node, the group, its members, live moves, last transitions and counters; no
/// shards. `moves` are added to those that `status.shards` carry (for pictures without shards).
std::string StatusJson(const runtime::NodeStatus& status, const std::vector<MoveFact>& moves = {});

/// {"group":…,"revision":…,"nodes":[…]}: the members alone.
std::string NodesJson(const runtime::NodeStatus& status);

/// {"moves":[…]}: what a plan would move.
std::string MovesJson(const std::vector<MoveFact>& moves);

}  // namespace baton::http
