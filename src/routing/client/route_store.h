// RouteStore: a router's routes. The router's thread merges messages. Any thread reads the
// published table, almost always without a lock, or waits for a shard's route to change.
//
// Publishing copies all routes, so it happens at most every kPublishEvery, except for a complete
// snapshot, which is published at once. Threads that wait for a shard's route don't wait for that:
// Merge wakes them at once.
#pragma once

#include <chrono>
#include <condition_variable>
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
  };
  /// Merges one message, wakes the threads that wait for what it changed, and publishes the table
  /// if that is due at `now`. Errors: as MergedRoutes::Apply.
  Result<Merged> Merge(const v1::WatchRoutesResponse& message, TimePoint now);
  /// Publishes the table if a change is unpublished and kPublishEvery has passed.
  void PublishDue(TimePoint now);
  /// When to call PublishDue next; nullopt: nothing is unpublished.
  std::optional<TimePoint> next_publish() const;

  // Any thread may call these.
  /// The published table; null before the first complete snapshot. It always has all routes: while
  /// a stream replaces forgotten routes, it is the table from before. Keeps the table in memory for
  /// this thread, and waits for a short lock while the thread has none. Valid until this thread's
  /// next call of table(), of any RouteStore, or until this store is destroyed.
  const RouteTable* table() const noexcept { return publisher_.Read(); }
  bool complete() const;
  Revision revision() const;

  struct Newest {
    Route route;                ///< its texts live as long as this object
    std::uint64_t changes = 0;  ///< how often the shard's route has changed
  };
  /// Returns the shard's newest route. It may be newer than the one in table(). If all routes were
  /// forgotten, it is leaderless until the new one arrives. Waits for a short lock. REQUIRES
  /// (checked): a stream's first message was merged, and the shard is in range.
  Newest Find(ShardId shard) const;
  /// Returns the shard's newest term, also before there is a table. 0: nobody leads the shard, or
  /// no routes were read. nullopt: there is no such shard. Unlike table(), keeps no table in
  /// memory.
  std::optional<Term> FindTerm(ShardId shard) const;
  /// Waits until Newest::changes of the shard differs from `changes`, the number that Find
  /// returned. Returns at once if it differs already. True: it differs. False: `until` has passed
  /// without a change, or the store was closed. REQUIRES: as Find, not checked.
  bool Await(ShardId shard, std::uint64_t changes, TimePoint until);
  /// Waits until all routes were read, the store is closed, `given_up` returns true, or `until` has
  /// passed. Returns whether all routes were read. Calls `given_up`, without arguments, at first
  /// and after each Nudge, and maybe more often. REQUIRES: `given_up` doesn't call this object,
  /// because the lock is held.
  template <typename GivenUp>
  bool AwaitComplete(TimePoint until, GivenUp given_up);
  /// Makes AwaitComplete ask `given_up` again.
  void Nudge();
  /// Ends all waits. Waits that begin later end at once.
  void Close();
  bool closed() const;

 private:
  struct Waiter {
    std::size_t shard = 0;
    std::uint64_t changes = 0;
    std::condition_variable changed;
  };

  void Publish(TimePoint now);

  mutable std::mutex mutex_;  // guards all but the publisher
  MergedRoutes merged_;
  std::unordered_set<Waiter*> waiters_;
  std::condition_variable progress_;
  bool closed_ = false;
  bool unpublished_ = false;            // the table lacks a change
  std::optional<TimePoint> published_;  // when the table was last published
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
