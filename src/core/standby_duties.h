// StandbyDuties: the shards for which this node stands by, as its application knows them.
//
// The duties follow View::StandbysOf while the session is live. For each new duty the application's
// `standby` callback begins, and for each that ends without a leadership here, `standby_ended`. If
// this node gains the shard, the duty ends without a callback of its own, because `acquired` comes.
// While the session is not live, no duty begins or ends. If the session is lost, the duties go on
// in the next one: a loaded state depends on no lease.
//
// A node that drains, stops or halts ends all duties. If its external application is gone, they end
// without a callback, and begin again once an application is attached. Without a listener nothing
// has to be loaded, so each duty is ready at once.
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
  /// The application says whether it could serve the shard at once. Does nothing unless the
  /// operation is that of the shard's present duty.
  void On(const StandbyReadySaid& event);
  /// Records which shards changed; Advance looks at them again. Ends the duties of shards that this
  /// node leads now. REQUIRES: each ViewChanges of the view is passed here before the next Advance,
  /// and to `leaderships` before.
  void Note(const View& view, const ViewChanges& changes, const Leaderships& leaderships);
  /// Begins and ends duties. Does nothing while the session is not live or the application is not
  /// attached; but if the node is asked to stop (Context::draining), it ends all duties at once.
  void Advance(Context& context, const Leaderships& leaderships);
  /// Ends all duties, each with a callback.
  void EndAll(Context& context);
  /// The external application is gone: forgets all duties, without callbacks.
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
  /// The shards for which this node is a ready standby, sorted. Nullopt: they have not changed
  /// since the last call that returned them, or it is too early to tell the group again
  /// (ReadyPace). If it is too early, asks for a step at the right time.
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
