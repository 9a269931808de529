// RouteStore: a router's routes. The router's thread merges messages. Any thread may read the
// published table, almost always without a lock, or wait until a shard's route changes.
//
// Find, FindTerm and Await see a merged change at once; table() shows it later. Each published
// table is a copy of all routes, so the store publishes at most one in kPublishEvery. There is one
// exception: routes that have just become complete are published at once. The store publishes no
// incomplete routes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/clock.h"
#include "baton/result.h"
#include "baton/routes.h"
#include "routing/client/merged_routes.h"
#include "routing/client/route_table.h"

namespace baton::routing {

inline constexpr Duration kPublishEvery = std::chrono::milliseconds(10);

/// How many new nodes (not stored yet) servers may name: this many at once, and one more after each
/// kNewNodeEvery. So a false server needs hours to fill kMaxRouteNodes. A full store takes no new
/// node.
inline constexpr std::size_t kNewNodesAtOnce = 100'000;
inline constexpr Duration kNewNodeEvery = std::chrono::milliseconds(10);

class RouteStore {
 public:
  explicit RouteStore(std::string group,
                      LeaderAddresses addresses = LeaderAddresses::kHostsAndPorts)
      : merged_(std::move(group), addresses) {}

  // Only the router's thread may call these.
  v1::WatchRoutesRequest BeginStream();
  struct Merged {
    bool begun_stream = false;  ///< the message was its stream's first
    bool resumed = false;       ///< MergedRoutes::resumed()
    bool changed = false;       ///< a route may have changed
    bool doubted = false;       ///< MergedRoutes::doubted(): close the stream, and open another one
  };
  /// Merges one message. Wakes the threads that wait for its changes, and publishes the table if
  /// this is due at `now`. After an error nothing was merged: close the stream. Errors
  /// (MergedRoutes::Apply has the details):
  ///  - kNotFound: the message is of another group.
  ///  - kFailedPrecondition: the message maps keys differently from the known routes.
  ///  - kInvalidArgument: the message is malformed, or above a limit, such as kNewNodesAtOnce.
  Result<Merged> Merge(const v1::WatchRoutesResponse& message, TimePoint now);
  /// Publishes the table if a change is unpublished, the routes are complete, and kPublishEvery has
  /// passed since the last publication.
  void PublishDue(TimePoint now);
  /// When to call PublishDue next; this may be a time in the past. nullopt: nothing is unpublished,
  /// or the routes are not complete. When they become complete, Merge publishes them.
  std::optional<TimePoint> next_publish() const;

  // Any thread may call these.
  /// The table that was published last; null before the first complete snapshot. It always has all
  /// routes. While a new snapshot replaces routes that were forgotten or doubted, the table still
  /// has the earlier routes. The calling thread keeps the table in memory. While the thread has no
  /// table, a call may wait for a short lock. Later calls never wait: if the lock is taken, they
  /// return the table that the thread has. The pointer is for the calling thread only. It is valid
  /// until this thread calls table() of this or another RouteStore again, until the thread ends, or
  /// until this store is destroyed.
  const RouteTable* table() const noexcept { return publisher_.Read(); }
  bool complete() const;
  Revision revision() const;

  struct Newest {
    Route route;                ///< its texts live as long as the store
    std::uint64_t changes = 0;  ///< how often the route has changed; see MergedRoutes::changes
  };
  /// Returns the shard's newest route, which may be newer than the route in table(). If all routes
  /// were forgotten, the route is leaderless until the shard's new route arrives. Waits for a short
  /// lock. REQUIRES (checked): a stream's first message was merged, and the shard is in range.
  Newest Find(ShardId shard) const;
  /// Returns the shard's newest term, also before there is a table. 0: nobody leads the shard, or
  /// no routes were read. nullopt: there is no such shard. Unlike table(), keeps no table in
  /// memory. Waits for a short lock.
  std::optional<Term> FindTerm(ShardId shard) const;
  /// Waits until Newest::changes of the shard differs from `changes`, a number that Find returned.
  /// Returns true at once if the numbers differ already. Returns false if `until` has passed
  /// without a change. Returns false at once if the store is closed, even if the numbers differ.
  /// Changes of standbys don't count. REQUIRES (not checked): as for Find; `until` is not
  /// TimePoint::max(), which would overflow.
  bool Await(ShardId shard, std::uint64_t changes, TimePoint until);
  /// Waits until complete(), the store is closed, `given_up` returns true, or `until` has passed.
  /// Then returns complete(). Calls `given_up`, without arguments, before it waits, after each
  /// Nudge, and maybe more often; but not while complete() or closed. REQUIRES (not checked):
  /// `given_up` doesn't call this object, because the lock is held; `until` is not
  /// TimePoint::max().
  template <typename GivenUp>
  bool AwaitComplete(TimePoint until, GivenUp given_up);
  /// Makes AwaitComplete ask `given_up` again.
  void Nudge();
  /// Ends all waits. Waits that begin later end at once. Routes can still be read and merged.
  void Close();
  bool closed() const;

 private:
  struct Waiter {
    std::size_t shard = 0;
    std::uint64_t changes = 0;
    std::condition_variable changed;
  };

  void Publish(TimePoint now);
  void AllowNewNodes(TimePoint now);

  mutable std::mutex mutex_;  // guards all but the publisher
  MergedRoutes merged_;
  std::unordered_set<Waiter*> waiters_;
  std::condition_variable progress_;
  bool closed_ = false;
  std::size_t new_nodes_ = kNewNodesAtOnce;  // how many may be named now
  std::optional<TimePoint> new_nodes_at_;    // up to when time counts in new_nodes_
  bool unpublished_ = false;                 // the table lacks a change
  std::optional<TimePoint> published_;       // when the table was last published
  TablePublisher publisher_;
};

template <typename GivenUp>
bool RouteStore::AwaitComplete(TimePoint until, GivenUp given_up) {
  std::unique_lock lock(mutex_);
  progress_.wait_for(lock, until - BootClock::now(),
                     [&] { return closed_ || merged_.complete() || given_up(); });
  return merged_.complete();
}

}  // namespace baton::routing
