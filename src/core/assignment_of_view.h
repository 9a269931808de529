// AssignmentFrom: the view in the form that the assignment reads.
//
// A pure function of the view and the time. Succession, the balancer and the status ask it.
#pragma once

#include <vector>

#include "core/assignment.h"
#include "core/view.h"

namespace baton::core {

/// The view in the form that the assignment reads. `shard_of[i]` is the number of
/// AssignmentInput::shards[i]. A shard is left out in four cases: its record has a newer schema,
/// which nobody may replace; its record is damaged and may not be replaced yet; its record names a
/// session that lives but can't take part, or gets nothing for now (NodesThatGetNothing); the
/// failover policy kNever keeps it for a node that is not here. A shard that is kept for a node
/// that is here counts as led by that node, which claims it.
struct AssignmentOfView {
  AssignmentInput input;
  std::vector<ShardId> shard_of;
  /// when a member that gets nothing for now may take part again, or a shard's wait ends
  TimePoint changes_at = TimePoint::max();
  bool waits = false;                 ///< some shard's wait ends then
  bool owners_awaited = false;        ///< FailoverPolicy::kAfter keeps some shard for its owner
  std::vector<ShardId> to_take_back;  ///< kept for this view's own node, which may claim them
};
/// `now` and `settle` decide when a damaged record whose leader is unknown may be replaced.
AssignmentOfView AssignmentFrom(const View& view, Duration settle, TimePoint now);

/// Why the shard has no leader. Use it only for a record that is readable and not in force.
Reason VacancyReason(const View& view, const RecordFact& record);

}  // namespace baton::core
