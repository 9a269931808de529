// FailedActivations: the shards of this node whose `acquired` failed or was not called yet, and
// when `acquired` runs next for each.
//
// If `acquired` fails, the node keeps the shard in the same term and writes nothing to etcd. It
// calls `acquired` again after a backoff. The backoff is 100 ms at first, doubles with each
// failure, and is 5 s at most. A random part of it, at most half, is left out. A shard in backoff
// has nothing to release, so a move or a drain takes it without calling `releasing`. This node may
// also plan a move of the shard itself: see other_tries.h.
//
// The cause may be the node: its disk, or its way to a database. The node is failing once
// kShardsBeforeFailing shards have begun to fail on it since its last success. A failure does not
// count in these cases:
//  - Its callback began before another callback that succeeded.
//  - The shard came here because it failed on its last leader, and that node's member record does
//    not say that it is failing. Then the shard itself is probably the cause.
//  - The shard has left, and began to fail at least kFailingFor ago.
//
// If the node is still failing after kFailingBeforeSaid, its member record says so, and the node
// gets no more shards. But if the failures are common (FailuresAreCommon), the node goes on getting
// shards.
//
// First tries are bounded, so that a broken node fails few shards. The other shards wait.
//  - Until the first success, kFirstTriesUnproven first tries run at once.
//  - While the node is failing, kFirstTriesFailing run at once. Each time that this number has
//    begun, the next ones wait for a backoff, which grows like a shard's.
//  - After the node has started over (see below), one runs at a time.
// One success ends the failing and all three bounds. Until a success, the node tries the shards
// that failed on it in an earlier leadership after all others. They would only fail again, and a
// shard that it has not tried shows as well whether the cause is gone.
//
// If a node that is failing has no success for kFirstFailingFor to kFailingFor (options.h), it
// starts over: it does not count as failing any more, and gets shards again. If one shard then
// fails, the node is failing again.
//
// If an application in another process ends, its successes and failures don't count for the next
// application. But a node that was failing, or had not succeeded since it started over, has then
// started over. So an application that fails, ends and comes back again and again fails one shard
// each time.
//
// At most kMaxRetries retries run at once: a quarter of the callback threads. A retry, or a first
// try under one of the three bounds, counts as hanging if it still runs after its timeout, or after
// its shard is lost. A try that hangs does not count as running, so another one may begin in its
// place, with these limits:
//  - No retry begins while 2 * kMaxRetries retries run or hang.
//  - Under the three bounds, no first try begins while kMaxRetries first tries run or hang.
//
// After a success, no first try begins while kMaxTries tries of all kinds run within their
// timeouts. An application in another process has no such limit, because no thread waits for its
// callbacks.
//
// So if a node was well and then breaks, threads are left for other callbacks. But once its tries
// exceed their timeouts, other tries may begin, and may take these threads. First tries never delay
// a retry.
//
// If a retry succeeds, or any try while the node is failing, the cause may be gone for all shards.
// So all backoffs end, but at most once a second: shards that sometimes succeed must not make all
// others run again and again.
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
    /// How many failures, since the node gained the shard. A callback that exceeds its timeout and
    /// then fails counts twice.
    std::uint32_t failures = 0;
    /// How many of these failures came after an operator last asked for a retry. If no operator
    /// asked: all of them. This number decides how long the backoff is.
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
  /// The callback failed, before or after its timeout. Schedules the next try. May make the node
  /// failing.
  void Failed(Context& context, ShardId shard, const Try& failed);
  /// The callback exceeded its timeout, and still runs. This counts as a failure. The shard is not
  /// tried again before the callback has returned. The callback does not count as running any more:
  /// see Left.
  void Late(Context& context, ShardId shard, OperationId operation);
  /// The callback succeeded, perhaps after its timeout. Forgets the shard, and ends the node's
  /// failing. If the shard had failed before, or the node was failing, also ends all backoffs, but
  /// at most once a second.
  void Succeeded(Context& context, ShardId shard, OperationId operation);
  /// Schedules the next `acquired` after a backoff. A time that was set earlier is replaced.
  /// REQUIRES (checked): Has(shard).
  void Schedule(Context& context, ShardId shard);
  /// An operator asks for a retry: resets the backoff. If the shard waits, it is the next shard
  /// that is retried. If the shard's callback runs now and then fails, the retry follows after the
  /// shortest backoff. REQUIRES (checked): Has(shard).
  void RetryNow(ShardId shard);
  /// The shard is not held any more. A node that is failing stays so.
  void Forget(ShardId shard);
  /// An application in another process has ended. REQUIRES: no shard is held any more, or all held
  /// shards are lost later in this step.
  void ForgetApplication();

  /// Whether a retry may start now. If no backoff is over yet, and Full() is false, asks for a step
  /// when the first one is over.
  bool Ready(Context& context) const;
  /// Takes the shard that is retried next, so that it does not wait any more. REQUIRES: Ready()
  /// (partly checked: a shard waits).
  ShardId Next();
  /// Whether so many retries run, or run and hang, that no other can start.
  bool Full() const {
    return running_.size() >= kMaxRetries ||
           running_.size() + left_retries_.size() >= 2 * kMaxRetries;
  }
  /// Whether an operator asked for the shard's try that begins now. A second call returns false.
  bool TakeRetryNow(ShardId shard) { return retry_now_.erase(shard) > 0; }
  /// The retry has begun. It counts as running until Returned or Left.
  void Started(OperationId operation) { running_.insert(operation); }
  /// The callback returned: it does not count as running or hanging any more. Ignores operations
  /// that are no tries.
  void Returned(OperationId operation);
  /// The shard was lost while its try runs, or the try exceeded its timeout. The try counts as
  /// hanging from now on. But a first try that began after a success, or was running when one came,
  /// does not count at all any more. Ignores operations that don't count as running.
  void Left(OperationId operation);

  /// Whether a shard may be tried for the first time now; always false while the node is failing.
  /// If false, call Wait: NextUntried then says when the shard is tried.
  bool MayTryFirst(const CoreOptions& options) const {
    if (proven_) return options.external || Tries() < kMaxTries;
    return first_tries_.size() < Width() && !FirstTriesFull();
  }
  /// Whether the shard failed here, perhaps in an earlier leadership, and nothing has succeeded
  /// here since. Such a shard is tried, and prepared, after all others: call Wait for it even if
  /// MayTryFirst.
  bool FailedBefore(ShardId shard) const { return !proven_ && failed_before_.contains(shard); }
  /// The shard's first try has begun. It counts as running until Returned or Left. The shard does
  /// not wait any more.
  void StartedFirst(ShardId shard, OperationId operation);
  /// The shard waits for its first try until NextUntried takes it. `last`: after all others.
  void Wait(ShardId shard, bool last) {
    LeaveLine(shard);
    untried_.insert(Place(shard, last));
  }
  /// Takes the shard whose first try is next, so that it does not wait any more. Nullopt: no shard
  /// waits, or no first try may begin now. If only a backoff is in the way, asks for a step when
  /// the backoff is over.
  std::optional<ShardId> NextUntried(Context& context);
  /// The shards that wait for their first try, in the order in which they are tried. The first
  /// number of each pair only sets this order (see Place).
  using Untried = std::set<std::pair<std::uint32_t, ShardId>>;
  const Untried& untried() const { return untried_; }

  /// When the node began to be failing; nullopt: it is not failing.
  std::optional<TimePoint> failing_since() const { return failing_since_; }
  bool failing() const { return failing_since_.has_value(); }
  /// Whether the node has been failing for kFailingBeforeSaid: its member record should say so.
  bool says_failing() const { return says_failing_; }
  /// Until when the node plans no other tries (other_tries.h) after it started over because time
  /// passed. May be a past time. TimePoint::min(): it never started over so.
  TimePoint starts_over_until() const { return starts_over_until_; }
  /// Follows the time: sets says_failing(), and lets a node that fails for long start over. Asks
  /// for a step when one of these is due.
  void Advance(Context& context);
  /// How many incoming moves may be in preparation here at once. kUnbounded: none of the three
  /// bounds is in force, there is no listener, or the failures are common. Otherwise the bound
  /// minus the first tries that wait, or run within their timeouts. While the node is failing, 0.
  std::size_t Room(const Context& context) const;

  bool Has(ShardId shard) const { return failures_.contains(shard); }
  /// Whether the shard waits for a try, or its callback is late. Such a shard is not activated.
  bool Waits(ShardId shard) const;
  /// Whether the shard's callback exceeded its timeout and still runs.
  bool Late(ShardId shard) const;
  /// The shards that another node may try: those that failed at least kFailuresBeforeOtherTry times
  /// here, and those with a callback that exceeded its timeout. A shard stays here until Succeeded
  /// or Forget.
  const std::set<ShardId>& hopeless() const { return hopeless_; }
  const std::map<ShardId, Failure>& failures() const { return failures_; }
  /// How many failures of all shards there were since this object exists, counted as in
  /// Failure::failures.
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
  /// A shard's place among those that wait for their first try. `last`: after all others.
  /// Neighbouring shards often depend on the same thing, so they are not tried one after another.
  static Untried::value_type Place(ShardId shard, bool last) {
    constexpr std::uint32_t kLast = 1u << 31;
    return {(last ? kLast : 0) | ((shard.value * 2654435761u) >> 1), shard};
  }
  bool InLine(ShardId shard) const {
    return untried_.contains(Place(shard, false)) || untried_.contains(Place(shard, true));
  }
  void LeaveLine(ShardId shard) {
    untried_.erase(Place(shard, false));
    untried_.erase(Place(shard, true));
  }

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
  /// The shards that failed after the last success. Unlike began_to_fail_, it has all of them, and
  /// keeps them when the node is failing and when it starts over.
  std::set<ShardId> failed_before_;
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
