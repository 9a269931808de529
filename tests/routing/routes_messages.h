// Builds messages of WatchRoutes for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baton/v1/routing.pb.h"
#include "routing/route_digest.h"

namespace baton::routing {

struct StandbyOf {
  std::string node = {};
  bool ready = false;
};

struct RouteOf {
  std::uint32_t shard = 0;
  std::string leader = {};  ///< empty: nobody
  std::int64_t term = 0;
  std::int64_t revision = 0;
  v1::Route::State state = v1::Route::STATE_LED;
  std::optional<std::string> address = {};  ///< unset: the leader's name followed by ":1"
  std::vector<StandbyOf> standbys = {};     ///< their addresses: the names followed by ":1"
};

/// Returns the node's index in the message, plus 1.
inline std::uint32_t AddNode(v1::WatchRoutesResponse& message, const std::string& name,
                             const std::string& address) {
  v1::RouteNode& node = *message.add_nodes();
  node.set_node(name);
  node.set_address(address);
  return static_cast<std::uint32_t>(message.nodes_size());
}

inline void Add(v1::WatchRoutesResponse& message, const RouteOf& route) {
  v1::Route& added = *message.add_routes();
  added.set_shard(route.shard);
  added.set_revision(route.revision);
  added.set_state(v1::Route::STATE_LEADERLESS);
  for (const StandbyOf& standby : route.standbys) {
    v1::RouteStandby& told = *added.add_standbys();
    told.set_node(AddNode(message, standby.node, standby.node + ":1"));
    told.set_ready(standby.ready);
  }
  if (route.leader.empty()) return;
  added.set_leader(AddNode(message, route.leader, route.address.value_or(route.leader + ":1")));
  added.set_term(route.term);
  added.set_state(route.state);
}

/// Routes after which the receiver is complete up to a revision (0: within a snapshot).
inline v1::WatchRoutesResponse Delta(std::int64_t complete_to,
                                     const std::vector<RouteOf>& routes = {}) {
  v1::WatchRoutesResponse message;
  message.set_complete_to(complete_to);
  for (const RouteOf& route : routes) Add(message, route);
  return message;
}

/// A check by a server that has these routes: all shards, in their order.
inline v1::WatchRoutesResponse Check(std::int64_t complete_to, const std::vector<RouteOf>& routes) {
  RouteDigest digest;
  for (const RouteOf& route : routes) {
    const std::string& name = route.leader;
    digest.Add(Term{route.term}, name, name.empty() ? "" : route.address.value_or(name + ":1"));
    for (const StandbyOf& standby : route.standbys) {
      digest.AddStandby(standby.node, standby.node + ":1", standby.ready);
    }
  }
  v1::WatchRoutesResponse message = Delta(complete_to);
  message.set_check(digest.Finish());
  return message;
}

struct FirstOf {
  std::string group = "orders";
  std::uint32_t shards = 4;
  v1::KeyMapping::Hash hash = v1::KeyMapping::HASH_MURMUR2;
  std::uint64_t cluster = 77;
  std::string server = "n1";
  bool anew = false;
  bool ends = true;  ///< it is also the snapshot's last message
};

/// A stream's first message.
inline v1::WatchRoutesResponse First(const FirstOf& first, std::int64_t complete_to,
                                     const std::vector<RouteOf>& routes = {}) {
  v1::WatchRoutesResponse message = Delta(complete_to, routes);
  message.set_group(first.group);
  message.mutable_mapping()->set_shards(first.shards);
  message.mutable_mapping()->set_hash(first.hash);
  message.set_cluster(first.cluster);
  message.set_server(first.server);
  message.set_anew(first.anew);
  message.set_snapshot_end(first.ends);
  return message;
}

}  // namespace baton::routing
