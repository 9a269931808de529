// RouteStore: a router's routes. The router's thread merges messages. Any thread reads the
// published table, almost always without a lock, or waits for a shard's route to change.
//
// A merged change is seen at once by Find, FindTerm and Await; table() shows it later. Each
// published table is a copy of all routes, so the store publishes at most one in kPublishEvery. One
// exception: when the routes have just become complete, it publishes them at once. It publishes no
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

/// How many new nodes, which are not stored yet, servers may name: this many at once, and one more
/// after each kNewNodeEvery. So a false server needs hours to fill kMaxRouteNodes. After that this
/// router could take no new node.
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
  /// Merges one message, wakes the threads that wait for a change that it made, and publishes the
  /// table if this is due at `now`. After an error nothing was merged; close the stream. kNotFound:
  /// the message is of another group. kFailedPrecondition: it maps keys differently from the known
  /// routes. kInvalidArgument: it is malformed, or above a limit, such as kNewNodesAtOnce.
  /// MergedRoutes::Apply has the details.
  Result<Merged> Merge(const v1::WatchRoutesResponse& message, TimePoint now);
  /// Publishes the table if a change is unpublished, the routes are complete, and kPublishEvery has
  /// passed since the last publication.
  void PublishDue(TimePoint now);
  /// When to call PublishDue next; this may be a time in the past. nullopt: nothing is unpublished,
  /// or the routes are not complete. When they become complete, Merge publishes them.
  std::optional<TimePoint> next_publish() const;

  // Any thread may call these.
  /// The table that was published last; null before the first complete snapshot. It always has all
  /// routes. While a new snapshot replaces routes that were forgotten or doubted, this is still the
  /// table with the earlier routes. Keeps the table in memory for this thread. Until this thread
  /// has a table, a call may wait for a short lock. Later calls never wait: if the lock is taken,
  /// they return the table that this thread has. The pointer is for this thread only. It is valid
  /// until this thread calls table() of this or another RouteStore again, until the thread ends, or
  /// until this store is destroyed.
  const RouteTable* table() const noexcept { return publisher_.Read(); }
  bool complete() const;
  Revision revision() const;

  struct Newest {
    Route route;                ///< its texts live as long as the store
    std::uint64_t changes = 0;  ///< how often the route has changed; see MergedRoutes::changes
  };
  /// Returns the shard's newest route. It may be newer than the route in table(). If all routes
  /// were forgotten, it is leaderless until the shard's new route arrives. Waits for a short lock.
  /// REQUIRES (checked): a stream's first message was merged, and the shard is in range.
  Newest Find(ShardId shard) const;
  /// Returns the shard's newest term, also before there is a table. 0: nobody leads the shard, or
  /// no routes were read. nullopt: there is no such shard. Unlike table(), keeps no table in
  /// memory.
  std::optional<Term> FindTerm(ShardId shard) const;
  /// Waits until Newest::changes of the shard differs from `changes`, the number that Find
  /// returned. Returns true at once if the numbers differ already. False: `until` has passed
  /// without a change, or the store is closed. If it is closed, the result is false even if the
  /// numbers differ. A change of standbys alone is no change here. REQUIRES (not checked): as Find;
  /// `until` is not TimePoint::max(), which would overflow.
  bool Await(ShardId shard, std::uint64_t changes, TimePoint until);
  /// Waits until complete(), the store is closed, `given_up` returns true, or `until` has passed.
  /// In each of these cases it returns complete(). It calls `given_up`, without arguments, before
  /// it waits, after each Nudge, and maybe more often; but not while complete() or closed.
  /// REQUIRES: `given_up` doesn't call this object, because the lock is held; `until` is not
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
