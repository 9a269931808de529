// RouteStore: a router's routes for everybody. The router's thread merges; any thread reads the
// published table without locks, or waits for a shard's route to change.
//
// A table is published at most every kPublishEvery, as it is a copy of all routes; who waits for a
// shard is woken by the message itself.
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
#include "routing/merged_routes.h"
#include "routing/route_table.h"

namespace baton::routing {

inline constexpr Duration kPublishEvery = std::chrono::milliseconds(10);

class RouteStore {
 public:
  explicit RouteStore(std::string group) : merged_(std::move(group)) {}

  // The router's thread.
  v1::WatchRoutesRequest BeginStream();
  struct Merged {
    bool begun_stream = false;  ///< it was the stream's first
    bool resumed = false;
    bool changed = false;  ///< some route
  };
  /// Errors as MergedRoutes::Apply.
  Result<Merged> Merge(const v1::WatchRoutesResponse& message, TimePoint now);
  /// Publishes what is due.
  void PublishDue(TimePoint now);
  /// When PublishDue has something to do; nullopt: nothing is due.
  std::optional<TimePoint> next_publish() const;

  // Any thread.
  /// Null before the first complete snapshot; valid until this thread's next call.
  const RouteTable* table() const noexcept { return publisher_.Read(); }
  /// The same where this thread has it at hand; null: ask table().
  const RouteTable* kept_table() const noexcept { return publisher_.ReadKept(); }
  bool complete() const;
  Revision revision() const;

  /// A shard's route as last heard; newer than the table's for up to kPublishEvery.
  struct Newest {
    Route route;
    std::uint64_t changes = 0;  ///< grows with each change of the shard's route
  };
  /// REQUIRES: table() is not null; a shard in range.
  Newest Find(ShardId shard) const;
  /// The term of Find, also before there is a table; keeps nothing alive. 0: nobody leads the
  /// shard, or no routes were read; nullopt: there is no such shard.
  std::optional<Term> FindTerm(ShardId shard) const;
  /// Waits until the shard's route is no more the one that was found with `changes`. False: it was
  /// not by `until`, or the store was closed.
  bool Await(ShardId shard, std::uint64_t changes, TimePoint until);
  /// Waits until the store is complete, closed, or `given_up` (asked when something happened) says
  /// that it will not be.
  template <typename GivenUp>
  bool AwaitComplete(TimePoint until, GivenUp given_up);
  /// Whoever waits for completeness looks again.
  void Nudge();
  /// Ends all waits, now and later.
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
  bool unpublished_ = false;  // something that the table has not
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
