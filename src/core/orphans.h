// Orphans: the shards that lost their leader, and that no node may gain.
//
// Normally the node that gains a shard reports that the leader before it was lost. If no node may
// gain the shard, the balancer reports this loss, once the shard has had no leader for `settle`. If
// FailoverPolicy::kAfter keeps the shard for its owner for longer, the balancer waits so long. It
// reports only leaderships that the view saw and whose record can still be read. No node may gain a
// shard if no member may lead, if placement rules forbid all that may, or if kNever keeps it.
//
// Every node notes which losses are counted already, so that the next balancer does not count them
// again.
//
// Pure and single-threaded: owned by the balancer.
#pragma once

#include <map>
#include <vector>

#include "core/context.h"
#include "core/may_claim.h"

namespace baton::core {

class Orphans {
 public:
  /// Records what changed in the view. REQUIRES: every change is passed before the next Advance.
  void Note(const View& view, const ViewChanges& changes) {
    outdated_ = outdated_ || changes.members || changes.policy || changes.balancer ||
                changes.config || Vacated(view, changes);
  }
  /// Returns the losses that are due, each once, while some node is the balancer. Asks for a step
  /// when the next one may be due. REQUIRES: the view is complete.
  std::vector<Transition> Advance(Context& context);

 private:
  void Look(const Context& context, ShardId shard, RulesAsked& rules,
            std::vector<Transition>& lost);

  std::map<ShardId, Term> counted_;
  bool outdated_ = true;
  TimePoint look_at_ = TimePoint::max();
};

}  // namespace baton::core
