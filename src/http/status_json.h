// The JSON documents of a node's status. They are API of HTTP's /v1 paths and of `batonctl -o
// json`.
//
// Pure functions; any thread. Field names are stable; new ones may be added. A field is null if
// there is no node or text for it. Fields whose names end in _ms are durations in whole
// milliseconds. Terms and revisions are etcd's revisions. A document is one line, without a newline
// at its end.
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

/// `/v1/shards`: group, revision, stale (NodeStatus::stale), and for each shard: shard, leader,
/// address, term and state. A shard that fails to activate also has `failing`: attempts, lasted_ms
/// and last_error. A shard with standbys has `standbys`: node, address and ready of each.
std::string ShardsJson(const runtime::NodeStatus& status);

/// `/v1/shards/{s}`: group, revision, stale, and of this shard: shard, leader, address, term,
/// state, reason, cause (http/cause_json.h), previous, move, quarantined, failing, deaths,
/// claims_wait_ms, waits_for, others_wait_ms, lock_wait_ms, rule, nobody_may_lead,
/// led_against_rule, standbys (may be empty), without_ready_standby and recent. nullopt: there is
/// no such shard, or the status has no shards.
std::optional<std::string> ShardJson(const runtime::NodeStatus& status, ShardId shard);

/// The fields of `/v1/shards/{s}` about the shard itself: without group, revision, stale and
/// recent. `at`: NodeStatus::at of the status that `shard` is from.
boost::json::object ShardFields(const runtime::ShardStatus& shard, TimePoint at);

/// `/v1/lookup`: group, revision, stale, age_ms (the view's age), shard, leader, address, term,
/// state and standbys (node, address and ready of each). nullopt: `status` does not have the shard.
std::optional<std::string> LookupJson(const runtime::NodeStatus& status, ShardId shard);

/// How new a list of routes is.
struct RoutesStamp {
  std::string group;
  Revision revision;  ///< the list has all changes up to this revision
  std::chrono::nanoseconds age{0};
  bool stale = false;
};
/// `/v1/routes`: group, revision, age_ms, stale, and for each route: shard, leader, address, term,
/// state, revision and, if there are any, standbys. The state of activating and suspended shards is
/// "led". Reason: these two states change without a new revision, so a poll might miss their end.
std::string RoutesJson(const RoutesStamp& stamp, const std::vector<runtime::ViewRoute>& routes);

/// `/v1/status`, without a list of all shards:
///  - the node, the group, its members and those that left, live moves, the last transitions,
///    counters;
///  - the placement rules that are not kept (runtime/rules_not_kept.h): number, what it requires,
///    and the counts of RuleGaps of each; none if `status` has no shards;
///  - how many shards fail to activate, and the worst of them;
///  - the shards that the application still works on although their leaderships have ended.
/// `moves`: the live moves, if `status` has no shards. The moves in `status.shards` are listed
/// after these.
std::string StatusJson(const runtime::NodeStatus& status, const std::vector<MoveFact>& moves = {});

/// {"group":…,"revision":…,"stale":…,"node":…,"view_age_ms":…,"expected_nodes":…,"nodes":[…],
/// "departed":[…]}: the members, and the nodes that left within the last hour.
std::string NodesJson(const runtime::NodeStatus& status);

/// The group's settings: {"group":…,"revision":…,"stale":…,"expected_nodes":…,"max_moves":…,
/// "rebalance_delay_ms":…,"cooldown_ms":…,"failover":…,"failover_delay_ms":…,
/// "lock_delay_ms":…,"placement_rules":…,"config_schema":…}. A number that is not set is null.
/// failover_delay_ms is also null if failover is not "after". `placement_rules`: the number of
/// rules.
std::string GroupJson(const runtime::NodeStatus& status);

/// {"moves":[…]}: the moves of a plan.
std::string MovesJson(const std::vector<MoveFact>& moves);

}  // namespace baton::http
