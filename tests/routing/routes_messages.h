// Builds messages of WatchRoutes for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baton/v1/routing.pb.h"

namespace baton::routing {

struct RouteOf {
  std::uint32_t shard = 0;
  std::string leader = {};  ///< empty: nobody
  std::int64_t term = 0;
  std::int64_t revision = 0;
  v1::Route::State state = v1::Route::STATE_LED;
  std::optional<std::string> address = {};  ///< unset: the leader's name followed by ":1"
};

inline void Add(v1::WatchRoutesResponse& message, const RouteOf& route) {
  v1::Route& added = *message.add_routes();
  added.set_shard(route.shard);
  added.set_revision(route.revision);
  added.set_state(v1::Route::STATE_LEADERLESS);
  if (route.leader.empty()) return;
  v1::RouteNode& node = *message.add_nodes();
  node.set_node(route.leader);
  node.set_address(route.address.value_or(route.leader + ":1"));
  added.set_leader(static_cast<std::uint32_t>(message.nodes_size()));
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
