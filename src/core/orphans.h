// Orphans: finds the shards that lost their leader and that no node may gain, and reports each
// loss.
//
// Normally the node that gains a shard reports that the last leader was lost. If no node may gain
// the shard, the elected balancer (balancer.h) reports this loss, once the shard has had no leader
// for CoreOptions::settle. If FailoverPolicy::kAfter keeps the shard for its owner, the report
// waits until the delay is over. A loss is reported if the view saw the leadership, and the shard's
// record can still be read. No node may gain a shard in these cases:
//  - No member may begin to lead.
//  - Placement rules forbid the shard to all members that may begin to lead.
//  - FailoverPolicy::kNever keeps the shard for its owner, even if the owner is a live member.
//
// Every node notes which losses were reported, so that the next balancer does not report them
// again.
//
// Pure and single-threaded: owned by the class Balancer, so every node has one.
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
  /// Returns the losses that became due, each once. The elected balancer reports them
  /// (ReportTransition); the other nodes note them (SeeTransition). Empty while no node is the
  /// balancer. Asks for a step when the next loss may be due. May look at every shard of the group.
  /// REQUIRES: the view is complete.
  std::vector<Transition> Advance(Context& context);

 private:
  void Look(const Context& context, ShardId shard, RulesAsked& rules,
            std::vector<Transition>& lost);

  std::map<ShardId, Term> counted_;
  bool outdated_ = true;
  TimePoint look_at_ = TimePoint::max();
};

}  // namespace baton::core
