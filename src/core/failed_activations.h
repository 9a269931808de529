// FailedActivations: the shards of this node whose `acquired` failed or was not called yet, and
// when `acquired` runs next for each.
//
// If `acquired` fails, the node keeps the shard in the same term and writes nothing to etcd. It
// calls `acquired` again after a backoff. The backoff is 100 ms at first, doubles with each
// failure, and is 5 s at most. A random part of it, at most half, is left out. A shard in backoff
// has nothing to release, so a move or a drain takes it at once. The leader may also plan a move of
// the shard; see other_tries.h.
//
// The cause may be the node: its disk, or its way to a database. The node is failing once
// kShardsBeforeFailing shards have begun to fail on it since its last success. These failures don't
// count:
//  - of a callback that began before one that succeeded;
//  - of a shard that came here because it failed on its last leader, if that node is not failing
//    (then the shard itself is probably the cause);
//  - of a shard that has left, if it began to fail more than kFailingFor ago.
// If the node is still failing after kFailingBeforeSaid, its member record says so, and the node
// gets no more shards. But if the failures are common (FailuresAreCommon), the node goes on getting
// shards.
//
// First tries are bounded, so that a broken node fails few shards. The other shards wait.
//  - Until the first success, kFirstTriesUnproven first tries run at once.
//  - While the node is failing, kFirstTriesFailing run at once. Each time that so many have begun,
//    the next ones wait for a backoff, which grows like a shard's.
//  - After the node has started over (see below), one runs at a time.
// One success ends the failing and all three bounds.
//
// If the application is another process and ends, nothing that it did counts for the next one.
// But if the node was failing, it starts over: so an application that fails, ends and comes back
// again and again costs one shard each time.
//
// Without a success, the node starts over after kFirstFailingFor to kFailingFor (options.h): it
// does not count as failing any more, and gets shards again. If one shard then fails, the node is
// failing again.
//
// At most kMaxRetries retries run at once: a quarter of the callback threads. A retry, or a first
// try under one of the three bounds, counts as hanging if it still runs after its timeout, or after
// its shard is lost. Then another one begins in its place.
//  - No retry begins while 2 * kMaxRetries run or hang.
//  - No first try begins under the three bounds while kMaxRetries first tries run or hang.
//  - After a success, no first try begins while kMaxTries tries of all kinds run within their
//    timeouts, unless the application is another process, which no thread waits for.
// So if a node was well and then breaks, threads are left for other callbacks. That ends when its
// tries exceed their timeouts: others may then begin beside them. First tries delay no retry.
//
// If a retry succeeds, the cause may be gone for all shards, so all backoffs end. This happens at
// most once a second, because shards that sometimes succeed must not make all others run again and
// again.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/context.h"

namespace baton::core {

class FailedActivations {
 public:
  struct Failure {
    std::uint32_t failures = 0;  ///< how many, since the node gained the shard
    /// How many of these came since an operator last asked for a retry; all, if none asked. They
    /// decide how long the backoff is.
    std::uint32_t backoffs = 0;
    TimePoint since{};  ///< when the first failure was noticed
    std::string error;  ///< of the last failure: what the callback threw, or a timeout
    bool late = false;  ///< the callback exceeded its timeout and still runs
  };

  /// A callback that failed.
  struct Try {
    OperationId operation = 0;
    std::string error;
  };
  /// The callback failed, in time or late. Schedules the next try.
  void Failed(Context& context, ShardId shard, const Try& failed);
  /// The callback exceeded its timeout, which counts as a failure, and still runs. No other try is
  /// scheduled before it returns.
  void Late(Context& context, ShardId shard, OperationId operation);
  /// The callback succeeded: forgets the shard, and the node is not failing. If the callback was a
  /// retry, or the node was failing, all backoffs end, at most once a second.
  void Succeeded(Context& context, ShardId shard, OperationId operation);
  /// Schedules the next `acquired` after a backoff. REQUIRES: Has(shard).
  void Schedule(Context& context, ShardId shard);
  /// An operator asks for a retry: resets the backoff. A shard that waits becomes the next one to
  /// be tried. If its callback runs now and fails, the retry follows after the shortest backoff.
  /// REQUIRES: Has(shard).
  void RetryNow(ShardId shard);
  /// The shard is not held any more.
  void Forget(ShardId shard);
  /// The application, another process, has ended. REQUIRES: no shard is held any more, or none will
  /// be after this step.
  void ForgetApplication();

  /// Whether a retry may start now. If a backoff ends later, asks for a step at that time.
  bool Ready(Context& context) const;
  /// Takes the shard that is retried next. REQUIRES: Ready().
  ShardId Next();
  /// Whether so many retries run, or run and hang, that none can start.
  bool Full() const {
    return running_.size() >= kMaxRetries ||
           running_.size() + left_retries_.size() >= 2 * kMaxRetries;
  }
  /// Whether an operator asked for the try that begins now. Forgets that.
  bool TakeRetryNow(ShardId shard) { return retry_now_.erase(shard) > 0; }
  /// The retry has begun; it counts until Returned or Left.
  void Started(OperationId operation) { running_.insert(operation); }
  /// A callback returned, so it does not count any more. Ignores other operations.
  void Returned(OperationId operation);
  /// The shard is lost while its try runs, or the try exceeded its timeout. The try does not count
  /// as one of those that run any more, so others can begin.
  void Left(OperationId operation);

  /// Whether a shard may be tried for the first time now. If not, call Wait for it.
  bool MayTryFirst(const CoreOptions& options) const {
    if (proven_) return options.external || Tries() < kMaxTries;
    return first_tries_.size() < Width() && !FirstTriesFull();
  }
  /// The shard's first try has begun; it counts as running until Returned or Left.
  void StartedFirst(ShardId shard, OperationId operation);
  /// The shard waits for its first try until NextUntried takes it.
  void Wait(ShardId shard) { untried_.insert({Spread(shard), shard}); }
  /// Takes the shard whose first try is next; nullopt: no shard waits, or no first try may begin
  /// now. If a backoff ends later, asks for a step at that time.
  std::optional<ShardId> NextUntried(Context& context);
  /// The shards that wait for their first try, in the order in which they are tried.
  using Untried = std::set<std::pair<std::uint32_t, ShardId>>;
  const Untried& untried() const { return untried_; }

  /// When the node began to be failing; nullopt: it is not failing.
  std::optional<TimePoint> failing_since() const { return failing_since_; }
  bool failing() const { return failing_since_.has_value(); }
  /// Whether the node has been failing for kFailingBeforeSaid: its member record should say so.
  bool says_failing() const { return says_failing_; }
  /// The node started over because time passed. No other tries (other_tries.h) until this time.
  TimePoint starts_over_until() const { return starts_over_until_; }
  /// Follows the time: sets says_failing(), and lets a node that fails for long start over.
  void Advance(Context& context);
  /// How many more moved shards this node may take on, because first tries are bounded. kUnbounded
  /// after a success, without a listener, or if the failures are common. Otherwise the bound minus
  /// the first tries that run or wait; 0 while the node is failing.
  std::size_t Room(const Context& context) const;

  bool Has(ShardId shard) const { return failures_.contains(shard); }
  /// Whether the shard waits for a try, or its callback is late. Such a shard is not activated.
  bool Waits(ShardId shard) const;
  /// Whether the shard's callback exceeded its timeout and still runs.
  bool Late(ShardId shard) const;
  /// The shards that another node may try: those that failed kFailuresBeforeOtherTry times here,
  /// and those whose callback exceeded its timeout.
  const std::set<ShardId>& hopeless() const { return hopeless_; }
  const std::map<ShardId, Failure>& failures() const { return failures_; }
  /// How many failures there were since this object exists. A callback that exceeds its timeout and
  /// then fails counts twice.
  std::uint64_t total() const { return total_; }

 private:
  void Record(Context& context, ShardId shard, const Try& failed);
  void NoteFailing(Context& context, ShardId shard);
  bool BetterWaits(const Context& context) const;
  void EndFailing();
  void Say(Context& context, ShardId shard, const Failure& failure);
  std::size_t Width() const;
  bool FirstTriesFull() const {
    return first_tries_.size() + left_first_tries_.size() >= kMaxRetries;
  }
  /// All that run and are in time.
  std::size_t Tries() const { return running_.size() + first_tries_.size() + proven_tries_.size(); }
  /// Neighbouring shards often depend on the same thing, so they are not tried one after another.
  static std::uint32_t Spread(ShardId shard) { return shard.value * 2654435761u; }

  std::map<ShardId, Failure> failures_;
  std::map<ShardId, TimePoint> waiting_;             ///< with the end of their backoff
  std::set<std::pair<TimePoint, ShardId>> by_time_;  ///< waiting_, by the end of the backoff
  std::set<OperationId> running_;                    ///< retries, without those in left_retries_
  /// retries that still run, although their time is over or their shard is lost
  std::set<OperationId> left_retries_;
  std::set<ShardId> retry_now_;  ///< an operator asked for their next try
  std::uint64_t total_ = 0;
  std::set<ShardId> hopeless_;
  TimePoint release_not_before_ = TimePoint::min();
  TimePoint say_not_before_ = TimePoint::min();

  Untried untried_;
  std::set<OperationId> first_tries_;  ///< those that run and began without a success
  /// first tries that run and began after a success, or were running when one came
  std::set<OperationId> proven_tries_;
  /// first tries that still run, although their time is over or their shard is lost
  std::set<OperationId> left_first_tries_;
  /// The shards that began to fail after the last success, with the time when each began.
  std::map<ShardId, TimePoint> began_to_fail_;
  std::optional<TimePoint> failing_since_;
  bool says_failing_ = false;
  Duration failing_for_ = kFirstFailingFor;  ///< after this time of failing, the node starts over
  TimePoint starts_over_until_ = TimePoint::min();
  OperationId succeeded_ = 0;         ///< of the callbacks that succeeded, the one that began last
  bool proven_ = false;               ///< an activation succeeded, and the node did not fail later
  bool failed_long_ = false;          ///< the node has started over, without a success yet
  TimePoint first_try_not_before_{};  ///< while failing
  std::uint32_t first_tries_failing_ = 0;  ///< how many first tries began in this failing
};

}  // namespace baton::core
