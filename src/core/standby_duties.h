// StandbyDuties: the shards for which this node stands by, as its application knows them.
//
// While the session is live, this node has a duty for each shard whose View::StandbysOf has the
// node. A duty begins with the callback `standby`, and ends with the callback `standby_ended`. If
// this node gains the shard, the duty ends without `standby_ended`, because `acquired` follows.
// While the session is not live or the application is detached, no duty begins, and no change of
// StandbysOf ends a duty. A lost session ends no duty: the
// application may keep a shard's data loaded without a lease.
//
// A node that was asked to drain or stop, or that halts (Context::draining), ends all duties for
// good, even if its session is not live. An operator's policy kDrain and an unhealthy application
// only change StandbysOf, so duties may begin again later. When an
// external application ends, the duties end without callbacks. They begin again when an application
// is attached. Without a listener, no callback runs, and each duty is ready at once.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "core/context.h"
#include "core/leaderships.h"
#include "core/ready_pace.h"

namespace baton::core {

class StandbyDuties {
 public:
  /// The application says whether it could serve the shard at once. Ignored if the shard has no
  /// duty, or if the event's operation is not OperationOf(shard).
  void On(const StandbyReadySaid& event);
  /// Records which shards changed, for Advance. If this node holds a changed shard now (HeldShard),
  /// ends the shard's duty without a callback. REQUIRES: each ViewChanges of the view is passed
  /// here before the next Advance, and after Leaderships::Reconcile has got it.
  void Note(const View& view, const ViewChanges& changes, const Leaderships& leaderships);
  /// Begins and ends duties. If Context::draining is true, ends all duties at once. Otherwise acts
  /// if the view is complete, the session is live and the application is attached.
  void Advance(Context& context, const Leaderships& leaderships);
  /// Ends all duties, each with a callback if there is a listener.
  void EndAll(Context& context);
  /// The external application has ended: forgets all duties, without callbacks. The next Advance
  /// that may begin duties begins them again.
  void Forget();

  std::size_t size() const { return duties_.size(); }
  bool Has(ShardId shard) const { return duties_.contains(shard); }
  /// Whether this node is a ready standby for the shard.
  bool Ready(ShardId shard) const;
  /// The operation of the callback `standby` that began the shard's duty; 0: there is no duty, or
  /// no listener.
  OperationId OperationOf(ShardId shard) const {
    const auto found = duties_.find(shard);
    return found != duties_.end() ? found->second.callback : 0;
  }
  /// For how many shards this node is a ready standby.
  std::size_t ready() const { return ready_; }
  /// Returns all shards for which this node is a ready standby, sorted; the caller reports them to
  /// the group. Returns nullopt if no shard's readiness has changed since the last list. Also
  /// returns nullopt if it is too early for a new report (ready_pace.h), and asks for a step at the
  /// right time. If a shard's readiness changed and changed back, the list may equal the last list.
  std::optional<std::vector<ShardId>> TakeReady(Context& context);

 private:
  struct Duty {
    OperationId callback = 0;
    bool ready = false;
    bool told = false;  ///< the last list of TakeReady has the shard
    /// Whether the group still reads that the shard is ready, but the shard is not.
    bool TakenBack() const { return told && !ready; }
  };

  void Look(Context& context, ShardId shard, const Leaderships& leaderships);
  void Begin(Context& context, ShardId shard);
  void End(Context& context, ShardId shard);
  void SetReady(Duty& duty, bool ready);
  void SetTold(Duty& duty, bool told);
  void Erase(ShardId shard);

  std::map<ShardId, Duty> duties_;
  std::size_t ready_ = 0;
  std::size_t taken_back_ = 0;  ///< how many duties are TakenBack
  std::vector<ShardId> told_;   ///< the last list of TakeReady
  ChangedShards changed_;
  bool ready_changed_ = false;
  ReadyPace pace_;
};

}  // namespace baton::core
