// StandbyDuties: the shards for which this node stands by, as its application knows them.
//
// The duties follow View::StandbysOf while the session is live. For each new duty the callback
// `standby` runs. When a duty ends, the callback `standby_ended` runs. But if this node gains the
// shard, the duty ends without a callback of its own, because `acquired` comes. While the session
// is not live, no duty begins, and none ends for a change of the view. If the session is lost, the
// duties go on in the next session: a loaded state depends on no lease.
//
// A node that drains, stops or halts ends all duties, whether its session is live or not. If the
// node's external application is gone, the duties end without a callback, and begin again once an
// application is attached. Without a listener no callback runs, and each duty is ready at once,
// because nothing has to be loaded.
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
  /// The application says whether it could serve the shard at once. Does nothing unless the shard
  /// has a duty and the event's operation is OperationOf(shard).
  void On(const StandbyReadySaid& event);
  /// Records which shards changed; Advance looks at them again. Ends the duties of shards that this
  /// node holds now (HeldShard), without a callback. REQUIRES: each ViewChanges of the view is
  /// passed here before the next Advance, after Leaderships::Reconcile has seen it.
  void Note(const View& view, const ViewChanges& changes, const Leaderships& leaderships);
  /// Begins and ends duties. Ends all of them at once if the node drains, stops or has halted
  /// (Context::draining). Otherwise does nothing while the view is not complete, the session is not
  /// live, or the application is not attached.
  void Advance(Context& context, const Leaderships& leaderships);
  /// Ends all duties, each with a callback if there is a listener.
  void EndAll(Context& context);
  /// The external application is gone: forgets all duties, without callbacks. The next Advance that
  /// may begin duties begins them again.
  void Forget();

  std::size_t size() const { return duties_.size(); }
  bool Has(ShardId shard) const { return duties_.contains(shard); }
  /// Whether this node is a ready standby for the shard.
  bool Ready(ShardId shard) const;
  /// The operation of the kStandby callback that began the shard's duty; 0: there is no duty, or no
  /// listener.
  OperationId OperationOf(ShardId shard) const {
    const auto found = duties_.find(shard);
    return found != duties_.end() ? found->second.callback : 0;
  }
  /// For how many shards this node is a ready standby.
  std::size_t ready() const { return ready_; }
  /// Returns the shards for which this node is a ready standby, sorted. The caller must then tell
  /// the group these shards. Nullopt: no shard's readiness has changed since the last call that
  /// returned a list, or it is too early to tell the group again (ReadyPace). If it is too early,
  /// asks for a step at the right time. The list may equal the last one, if readiness changed and
  /// changed back.
  std::optional<std::vector<ShardId>> TakeReady(Context& context);

 private:
  struct Duty {
    OperationId callback = 0;
    bool ready = false;
    bool told = false;  ///< the last TakeReady returned its shard
    /// Whether the group still counts on a readiness that is gone.
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
  std::vector<ShardId> told_;   ///< what TakeReady returned last, sorted
  ChangedShards changed_;
  bool ready_changed_ = false;
  ReadyPace pace_;
};

}  // namespace baton::core
