#include "core/drain_change.h"

namespace baton::core {

std::optional<Error> RefuseDrainChange(const View& view, const NodeId& node, bool drained) {
  const MemberFact* member = view.member(node);
  const bool ends = !drained && view.policy({PolicyKind::kDrain, node}) != nullptr;
  if (member != nullptr && member->present) {
    const bool never = view.failover().policy == FailoverPolicy::kNever;
    if (!ends || !never || member->directory != 0 || member->weight == 0) return std::nullopt;
    return Error{ErrorCode::kFailedPrecondition,
                 "'" + node + "' has no state directory, and failover is never: after a restart " +
                     "it could not take back what it led, and nobody else may; give it one that " +
                     "it keeps (--state-dir), or set another failover"};
  }
  if (ends) return std::nullopt;
  return Error{ErrorCode::kNotFound, "no node '" + node + "' in this group" +
                                         (drained ? "" : ", and no drain of that name")};
}

}  // namespace baton::core
