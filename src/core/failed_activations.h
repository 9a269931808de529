// FailedActivations: the shards of this node whose `acquired` failed or was not called yet, and
// when it runs.
//
// A failure costs a callback, not an election: the node keeps the shard, in the same term, and
// calls `acquired` again after a backoff. It writes nothing to etcd for that. A shard in backoff
// was not activated, so it has nothing to release: a move or a drain takes it at once.
//
// The cause may be the node: its disk, its way to a database. If several shards fail, and no
// callback that began later succeeds, the node is failing. Shards that failed elsewhere before
// don't count. If that lasts, the node says so to the others. Then shards that it has not tried yet
// wait for their first try, and only a few are tried. Before the very first success the
// same holds, but more are tried at once. One success ends that: everything that waits is due. A
// node that fails for long starts over after a while: it tries one shard at a time again, and gets
// its part of the vacancies again. A shard that is gone still counts for kFailingFor, because a
// broken node may hold few shards at a time.
//
// The shard may be better off elsewhere; see other_tries.h.
//
// Bounds: kMaxRetries retries run at once, because a quarter of the callback threads is enough for
// applications that hang. Another quarter is for the first tries of a failing node. First tries
// that exceeded their timeout and still run count there, so they hold no retry up. If one retry
// succeeds, the cause may be gone for all, so all that wait are due at once; but at most once a
// second, so that shards that sometimes succeed don't make all others run again and again.
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
    std::uint32_t failures = 0;  ///< since the node gained the shard
    std::uint32_t backoffs = 0;  ///< the same, but since an operator asked for a retry
    TimePoint since{};           ///< of the first
    std::string error;           ///< of the last one: what the callback threw, or that it is late
    bool late = false;           ///< the callback that timed out has not returned yet
  };

  /// A callback that failed.
  struct Try {
    OperationId operation = 0;
    std::string error;
  };
  /// The callback failed. Schedules the next one.
  void Failed(Context& context, ShardId shard, const Try& failed);
  /// The callback exceeded its timeout and still runs. Nothing is scheduled before it returns.
  void Late(Context& context, ShardId shard, OperationId operation);
  /// An activation succeeded: the node is not failing. If it was a retry, or the node was failing,
  /// all that wait are due.
  void Succeeded(Context& context, ShardId shard, OperationId operation);
  /// Runs `acquired` again after a backoff. REQUIRES: Has(shard).
  void Schedule(Context& context, ShardId shard);
  /// An operator asks: the shard is the next to be tried, and its backoff is reset. REQUIRES:
  /// Has(shard).
  void Hasten(ShardId shard);
  /// The shard is not held any more.
  void Forget(ShardId shard);

  /// Whether a retry may start now; asks to be woken if a backoff ends later.
  bool Ready(Context& context) const;
  /// Takes the next one. REQUIRES: Ready.
  ShardId Next();
  /// Whether as many retries run as may run at once.
  bool Full() const { return running_.size() >= kMaxRetries; }
  /// Whether an operator asked for the try that begins now. It answers so once.
  bool TakeHastened(ShardId shard) { return hastened_.erase(shard) > 0; }
  /// Follows the retries that run, so that they are bounded.
  void Started(OperationId operation) { running_.insert(operation); }
  void Returned(OperationId operation);
  /// The shard is lost while its `acquired` runs. If that hangs, others must be tried all the same.
  void Left(OperationId operation);

  /// Whether a shard may be tried for the first time now. If not, it has to wait: see Wait.
  bool MayTryFirst() const {
    return first_tries_.size() < Width() && (proven_ || left_first_tries_.size() < kMaxRetries);
  }
  /// The shard's first try has begun. Follows first tries while they are bounded.
  void StartedFirst(ShardId shard, OperationId operation);
  /// The shard waits until NextUntried takes it.
  void Wait(ShardId shard) { untried_.insert({Spread(shard), shard}); }
  /// Takes the shard that is tried next for the first time; nullopt: none may be tried now.
  std::optional<ShardId> NextUntried(Context& context);
  /// The shards that wait for their first try, in the order in which they are tried.
  using Untried = std::set<std::pair<std::uint32_t, ShardId>>;
  const Untried& untried() const { return untried_; }

  /// Since when activations fail on this node; nullopt: they don't.
  std::optional<TimePoint> failing_since() const { return failing_since_; }
  bool failing() const { return failing_since_.has_value(); }
  /// Whether that has lasted for kFailingBeforeSaid, so that others should know.
  bool says_failing() const { return says_failing_; }
  /// The node was failing for long, and tries to find out by then whether it still is.
  TimePoint starts_over_until() const { return starts_over_until_; }
  /// Says that the node is failing once that has lasted, and ends it if it has lasted long enough.
  void Advance(Context& context);
  /// How many more shards this node may take on, besides those that it tries already.
  std::size_t Room(const Context& context) const;

  bool Has(ShardId shard) const { return failures_.contains(shard); }
  /// Whether the shard waits for a try, or its callback is late: it has nothing to release.
  bool Waits(ShardId shard) const;
  bool Late(ShardId shard) const;
  /// The shards that failed often enough that another node may try them.
  const std::set<ShardId>& hopeless() const { return hopeless_; }
  const std::map<ShardId, Failure>& failures() const { return failures_; }
  /// All failures since this node started.
  std::uint64_t total() const { return total_; }

 private:
  void Record(Context& context, ShardId shard, const Try& failed);
  void NoteFailing(Context& context, ShardId shard);
  bool BetterWaits(const Context& context) const;
  void EndFailing();
  void Say(Context& context, ShardId shard, const Failure& failure);
  std::size_t Width() const;
  /// Neighbouring shards often depend on the same thing, so they are not tried one after another.
  static std::uint32_t Spread(ShardId shard) { return shard.value * 2654435761u; }

  std::map<ShardId, Failure> failures_;
  std::map<ShardId, TimePoint> waiting_;             ///< with the end of their backoff
  std::set<std::pair<TimePoint, ShardId>> by_time_;  ///< the same, the next one first
  std::set<OperationId> running_;
  std::set<ShardId> hastened_;  ///< an operator asked for their next try
  std::uint64_t total_ = 0;
  std::set<ShardId> hopeless_;
  TimePoint release_not_before_ = TimePoint::min();
  TimePoint say_not_before_ = TimePoint::min();

  Untried untried_;
  std::set<OperationId> first_tries_;  ///< that run, since they are bounded
  /// first tries that still run, although their time is over or their shard is lost
  std::set<OperationId> left_first_tries_;
  std::map<ShardId, TimePoint> began_to_fail_;  ///< since the last success, and when
  std::optional<TimePoint> failing_since_;
  bool says_failing_ = false;
  Duration failing_for_ = kFirstFailingFor;  ///< how long the next failing lasts
  TimePoint starts_over_until_ = TimePoint::min();
  OperationId succeeded_ = 0;  ///< the callback that began last of those that succeeded
  bool proven_ = false;        ///< an activation succeeded since the node was failing, or at all
  bool failed_long_ = false;   ///< it starts over after kFailingFor
  TimePoint first_try_not_before_{};  ///< while failing
  std::uint32_t first_tries_failing_ = 0;
};

}  // namespace baton::core
