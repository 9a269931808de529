// Routes: the leader to which requests for a shard go, and how current that knowledge is. A Router
// answers with these (baton/router.h). Plain values, without gRPC.
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
  /// kActivating and kSuspended are known only for shards of the node that the router follows. For
  /// other nodes' shards these two states appear as kLed. kMoving: a move of the shard is in
  /// flight.
  ShardState state = ShardState::kLeaderless;
  Term term{};                 ///< the leadership's term; 0: no leader
  std::string_view leader{};   ///< node id; empty: no leader
  std::string_view address{};  ///< the leader's service address; empty: no leader, or no usable one
  friend bool operator==(const Route&, const Route&) = default;
};

/// A node that stands by for a shard. The texts of `node` and `address` are valid as long as the
/// router that returned them lives.
struct RouteStandby {
  std::string_view node{};     ///< node id; never empty
  std::string_view address{};  ///< its service address; empty: it has no usable address
  bool ready = false;          ///< its application says that it could take over at once
  friend bool operator==(const RouteStandby&, const RouteStandby&) = default;
};

/// How current a router's routes are.
struct RoutesAge {
  /// The routes are complete up to this revision; 0: they are incomplete. It may go back after the
  /// router has switched servers. A server's revision is that of the group's last change, or that
  /// of the server's last read of the whole group if this is greater. Servers read the whole group
  /// at different times, so one server's revision may be below another's. The revision is 0 again
  /// while the router reads all routes again.
  Revision revision{};
  /// How old the routes are: the age that the server gave for its own view in its last message,
  /// plus the time since that message. 0: no complete routes were read yet.
  std::chrono::nanoseconds age{0};
  /// True at first, while the router follows no server, while it has not read all of the server's
  /// routes, and while the server can't tell whether its view is current. While the router opens
  /// its stream again for new credentials, `stale` and `server` stay as they were. Routes stay
  /// usable: servers check each request.
  bool stale = true;
  std::string server{};  ///< name of the followed node or relay; empty: none
  /// One line: what was wrong with the last endpoint. Empty at first, and again once a stream of
  /// routes has begun. In this line and in `server`, control characters of the server's texts are
  /// escaped, and long texts are cut.
  std::string problem{};
};

/// Counts since the router was started; they only grow.
struct RouterCounters {
  // Calls by Call and CallWith that have ended. Each call is in exactly one of these five counts,
  // except calls that ended by an exception: they are in none.
  std::uint64_t ok = 0;  ///< answered with OK
  /// The last attempt was answered with another status, by the application or by gRPC. An earlier
  /// attempt may have taken effect.
  std::uint64_t failed = 0;
  std::uint64_t refused = 0;      ///< nothing was sent: the key, shard or an option was invalid
  std::uint64_t unavailable = 0;  ///< given up or stopped, and nothing took effect
  /// Ended without an answer that decides, and an attempt may have taken effect (see Router::Call).
  std::uint64_t unknown = 0;

  std::uint64_t attempts = 0;    ///< requests sent for all these calls
  std::uint64_t misroutes = 0;   ///< attempts answered with NOT_LEADER
  std::uint64_t redirects = 0;   ///< misroutes that named a newer leader, tried without a pause
  std::uint64_t waits = 0;       ///< pauses of calls: for an address, or before another attempt
  std::uint64_t superseded = 0;  ///< attempts ended early because the shard had a newer leader

  // Calls that the program made itself, on channels with Router::InterceptorFactory. The counts
  // above don't include them.
  std::uint64_t intercepted_calls = 0;      ///< calls with the metadata that Router::Mark adds
  std::uint64_t intercepted_misroutes = 0;  ///< such calls that were answered with NOT_LEADER

  // A stream of routes begins when the router accepts its first message. A stream that ends before
  // that counts only in `reconnects`.
  /// Streams that ended, also those that failed to open, and those that the router itself ended,
  /// for example for new credentials. The stream that Stop ends is not counted.
  std::uint64_t reconnects = 0;
  /// Streams that began with all routes. At first, streams begin like this until one of them has
  /// brought all routes. They begin like this again after etcd was restored, after the group's
  /// config was put back, and after a server has shown that an earlier server sent false routes.
  std::uint64_t snapshots = 0;
  std::uint64_t resumes = 0;  ///< streams that began where the last one ended
};

}  // namespace baton
