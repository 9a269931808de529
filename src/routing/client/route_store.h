// RouteStore: a router's routes. The router's thread merges messages; any thread reads the
// published table without locks, or waits for a shard's route to change.
//
// Publishing copies all routes, so it happens at most every kPublishEvery. Threads that wait for a
// shard are woken by the message itself.
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
    bool resumed = false;
    bool changed = false;  ///< some route may have changed
  };
  /// Merges one message. Errors: as MergedRoutes::Apply.
  Result<Merged> Merge(const v1::WatchRoutesResponse& message, TimePoint now);
  /// Publishes the table if it is due.
  void PublishDue(TimePoint now);
  /// When PublishDue has something to do; nullopt: nothing is due.
  std::optional<TimePoint> next_publish() const;

  // Any thread may call these.
  /// The published table; null before the first complete snapshot. Valid until this thread's next
  /// call.
  const RouteTable* table() const noexcept { return publisher_.Read(); }
  bool complete() const;
  Revision revision() const;

  /// A shard's newest route. The table may lag behind it by kPublishEvery.
  struct Newest {
    Route route;
    std::uint64_t changes = 0;  ///< counts the changes of the shard's route
  };
  /// REQUIRES: table() is not null, and the shard is in range.
  Newest Find(ShardId shard) const;
  /// The term that Find would return; it works even before there is a table. 0: nobody leads the
  /// shard, or no routes were read. nullopt: there is no such shard. Unlike table(), FindTerm keeps
  /// no table in memory.
  std::optional<Term> FindTerm(ShardId shard) const;
  /// Waits until the shard's route has changed since Find returned `changes`. False: `until`
  /// passed, or the store was closed.
  bool Await(ShardId shard, std::uint64_t changes, TimePoint until);
  /// Waits until all routes were read, the store is closed, `given_up` returns true, or `until` has
  /// passed. Calls `given_up` with the lock held: at the beginning, after each such event, and
  /// after Nudge. Returns true if all routes were read.
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
  bool unpublished_ = false;  // the table lacks some change
  std::optional<TimePoint> published_;
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
