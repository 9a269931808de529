// FailedActivations: the shards of this node whose `acquired` failed, and when it runs again.
//
// A failure costs a callback, not an election: the node keeps the shard, in the same term, and
// calls `acquired` again after a backoff. It writes nothing to etcd for that. A shard in backoff
// was not activated, so it has nothing to release: a move or a drain takes it at once.
//
// The shard may be better off elsewhere: the disk of one node may be broken. So after some failures
// the node resigns it, once: who gets a shard that was resigned for a failed callback keeps it.
// These resignations are paced, because a failure can hit all shards of the group.
//
// Bounds: kMaxRetries callbacks run at once, because a quarter of the callback threads is enough
// for applications that hang. If one retry succeeds, the cause may be gone for all, so all that
// wait are due at once; but at most once in kReleaseEvery, so that a few failures never repeat the
// many.
//
// Pure and single-threaded: owned by Leaderships.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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

  /// The callback failed. Schedules the next one.
  void Failed(Context& context, ShardId shard, const std::string& error);
  /// The callback exceeded its timeout and still runs. Nothing is scheduled before it returns.
  void Late(Context& context, ShardId shard);
  /// An activation succeeded; if it was a retry, all that wait are due.
  void Succeeded(Context& context, ShardId shard);
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
  void Returned(OperationId operation) { running_.erase(operation); }

  /// The shards that failed often enough to be resigned, as many as the pace allows now.
  /// `members`: how many nodes share the group's pace.
  std::vector<ShardId> TakeHopeless(Context& context, std::size_t members);

  bool Has(ShardId shard) const { return failures_.contains(shard); }
  /// Whether the shard waits for its next try, or its callback is late: it has nothing to release.
  bool Waits(ShardId shard) const;
  const std::map<ShardId, Failure>& failures() const { return failures_; }
  /// All failures since this node started.
  std::uint64_t total() const { return total_; }

 private:
  void Record(Context& context, ShardId shard, const std::string& error);
  void Say(Context& context, ShardId shard, const Failure& failure);

  std::map<ShardId, Failure> failures_;
  std::map<ShardId, TimePoint> waiting_;             ///< with the end of their backoff
  std::set<std::pair<TimePoint, ShardId>> by_time_;  ///< the same, the next one first
  std::set<OperationId> running_;
  std::set<ShardId> hastened_;  ///< an operator asked for their next try
  std::uint64_t total_ = 0;
  std::set<ShardId> hopeless_;  ///< failed often enough to be resigned
  TimePoint paced_until_{};     ///< the resignations sent so far use up the pace until then
  TimePoint release_not_before_ = TimePoint::min();
  TimePoint say_not_before_ = TimePoint::min();
};

}  // namespace baton::core
