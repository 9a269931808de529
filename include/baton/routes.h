// Routes: which leader gets the requests for a shard, and how current this knowledge is. A Router
// returns these types (baton/router.h). Plain values, without gRPC.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "baton/types.h"

namespace baton {

/// The leader to which a shard's requests go. The texts of `leader` and `address` are valid as long
/// as the router that returned them lives.
struct Route {
  ShardId shard;
  /// kActivating and kSuspended are known only if the router follows the shard's leader. If it
  /// follows another server, these two states appear as kLed. kMoving: a move of the shard is in
  /// flight.
  ShardState state = ShardState::kLeaderless;
  Term term{};                 ///< the leadership's term; 0: no leader
  std::string_view leader{};   ///< node id; empty: no leader
  std::string_view address{};  ///< the leader's service address; empty: no usable address
  friend bool operator==(const Route&, const Route&) = default;
};

/// A node that stands by for a shard. The texts of `node` and `address` are valid as long as the
/// router that returned them lives.
struct RouteStandby {
  std::string_view node{};     ///< node id; never empty
  std::string_view address{};  ///< its service address; empty: no usable address
  bool ready = false;          ///< its application says that it could take over at once
  friend bool operator==(const RouteStandby&, const RouteStandby&) = default;
};

/// How current a router's routes are.
struct RoutesAge {
  /// The routes have all changes up to this revision of etcd. 0: the router has not read all routes
  /// yet, or reads all routes again. The revision may go back after the router has switched
  /// servers.
  Revision revision{};
  /// How old the routes may be: the age of the server's own view, from the server's last message,
  /// plus the time since that message. 0: the router has not read all routes yet.
  std::chrono::nanoseconds age{0};
  /// Whether the routes may be out of date. True at first, while the router follows no server,
  /// while it has not read all routes, and while the server can't tell whether its own view is
  /// current. Stale routes are still usable: servers check each request. While the router opens its
  /// stream again for new credentials, `stale` and `server` stay as they were.
  bool stale = true;
  std::string server{};  ///< name of the followed node or relay; empty: none
  /// One line: what was wrong with the last endpoint. Empty at first, and again once a stream of
  /// routes has begun. In `problem` and `server`, control characters are escaped, and long texts of
  /// a server are cut.
  std::string problem{};
};

/// Counts since the router was started; they only grow.
struct RouterCounters {
  // Calls of Call and CallWith that have ended. Each call counts in one of the next five. A call
  // that ended by an exception counts in none of them.
  std::uint64_t ok = 0;  ///< answered with OK
  /// The application or gRPC answered the last attempt with another status. An earlier attempt may
  /// have taken effect.
  std::uint64_t failed = 0;
  std::uint64_t refused = 0;      ///< nothing was sent: the key, shard or an option was invalid
  std::uint64_t unavailable = 0;  ///< given up or stopped, and nothing took effect
  /// The outcome is unknown: an attempt may have taken effect (see Router::Call).
  std::uint64_t unknown = 0;

  std::uint64_t attempts = 0;    ///< attempts of all these calls
  std::uint64_t misroutes = 0;   ///< attempts answered with NOT_LEADER
  std::uint64_t redirects = 0;   ///< misroutes after which the call went on to the named leader
  std::uint64_t waits = 0;       ///< pauses of calls: for a route, or before another attempt
  std::uint64_t superseded = 0;  ///< attempts ended early because the shard had a newer leader

  // Calls that the program made itself, on channels with Router::InterceptorFactory. The counts
  // above don't include them.
  std::uint64_t intercepted_calls = 0;      ///< calls with the metadata that Router::Mark adds
  std::uint64_t intercepted_misroutes = 0;  ///< those calls that were answered with NOT_LEADER

  // A stream of routes begins when the router accepts the stream's first message. A stream that
  // ends earlier counts only in `reconnects`.
  /// Streams that ended. A stream that failed to open counts, and so does a stream that the router
  /// ended, for example for new credentials. The stream that Stop ends does not count.
  std::uint64_t reconnects = 0;
  /// Streams that began with all routes. Streams begin like this until one of them has brought all
  /// routes. Later a stream begins like this only if etcd was restored, if the group's config was
  /// put back, or if a server has shown that an earlier server sent false routes.
  std::uint64_t snapshots = 0;
  std::uint64_t resumes = 0;  ///< streams that began with the changes since the last stream
};

}  // namespace baton
