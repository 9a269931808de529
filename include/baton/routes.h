// Routes: where requests for a shard go, and how old that knowledge is. What a Router answers.
//
// Plain values, without gRPC; see baton/router.h for where they come from.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "baton/types.h"

namespace baton {

/// Where a shard's requests go. `leader` and `address` live as long as the router they come from.
struct Route {
  ShardId shard;
  /// Activating and suspended are known of the followed node's own shards only; elsewhere such a
  /// shard reads as led.
  ShardState state = ShardState::kLeaderless;
  Term term{};                 ///< 0: nobody leads
  std::string_view leader{};   ///< node id; empty: nobody leads
  std::string_view address{};  ///< the leader's service address; empty: nobody leads
  friend bool operator==(const Route&, const Route&) = default;
};

/// How old a router's routes are.
struct RoutesAge {
  Revision revision{};              ///< complete up to here; 0: nothing was read yet
  std::chrono::nanoseconds age{0};  ///< since the followed view was last proven current
  /// Nobody is followed, or the followed node can't tell whether its view is current. The routes
  /// stay usable: servers check.
  bool stale = true;
  std::string server{};   ///< the node or relay that is followed; empty: nobody
  std::string problem{};  ///< one line: why the last endpoint was left; empty: all is well
};

/// Counts since the router's start; they only grow.
struct RouterCounters {
  // Calls that ended, by how.
  std::uint64_t ok = 0;           ///< answered OK
  std::uint64_t failed = 0;       ///< answered with a status of the application's own
  std::uint64_t refused = 0;      ///< not made: the key or the options are off
  std::uint64_t unavailable = 0;  ///< given up, and nothing took effect (or the router stopped)
  std::uint64_t unknown = 0;      ///< given up, and an attempt may have taken effect

  std::uint64_t attempts = 0;    ///< requests made, all calls together
  std::uint64_t misroutes = 0;   ///< answers NOT_LEADER
  std::uint64_t redirects = 0;   ///< of these, hints that were followed
  std::uint64_t waits = 0;       ///< how often a call waited for a route or a moment
  std::uint64_t superseded = 0;  ///< attempts ended because another leader was known by then

  // Calls that the caller made by itself, on channels with Router::InterceptorFactory; none of
  // them is in a count above.
  std::uint64_t own_calls = 0;      ///< begun, of those that name a shard of the group
  std::uint64_t own_misroutes = 0;  ///< answers NOT_LEADER to these

  std::uint64_t reconnects = 0;  ///< streams of routes opened after the first
  std::uint64_t snapshots = 0;   ///< streams that began with everything
  std::uint64_t resumes = 0;     ///< streams that went on where the last one ended
};

}  // namespace baton
