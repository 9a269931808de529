// StandbyDuties: the shards for which this node stands by, as its application knows them.
//
// The duties follow View::standbys() while the session is live: for each new one the application's
// `standby` callback begins, and for each that ended without a leadership here, `standby_ended`. A
// duty ends silently when the node gains the shard, because `acquired` comes then. While the session
// is not live, nothing changes. If the session is lost, the duties go on in the next one: being warm
// depends on no lease.
//
// A node that drains, stops or halts ends all duties. If its external application is gone, they end
// without a callback, and begin again once one is attached.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <vector>

#include "core/context.h"
#include "core/leaderships.h"

namespace baton::core {

class StandbyDuties {
 public:
  /// Records which shards changed. REQUIRES: each ViewChanges is passed before the next Advance.
  void Note(const ViewChanges& changes);
  /// The application says whether it could serve the shard at once. Ignored unless `operation` is
  /// that of the shard's present duty.
  void On(const StandbyReadySaid& event);
  /// Begins and ends duties.
  void Advance(Context& context, const Leaderships& leaderships);
  /// Ends all duties, with a callback for each.
  void EndAll(Context& context);
  /// The external application is gone: forgets all duties.
  void Forget();
  /// Whether this node is a ready standby for the shard.
  bool Ready(ShardId shard) const;
  std::size_t size() const { return duties_.size(); }
  /// The shards for which this node is a ready standby; sorted.
  std::vector<ShardId> ready() const;
  /// Whether ready() is not what it was at the last call. 
  bool TakeChanged() { return std::exchange(ready_changed_, false); }

 private:
  struct Duty {
    OperationId callback = 0;
    bool ready = false;
  };
  std::map<ShardId, Duty> duties_;
};

}  // namespace baton::core
