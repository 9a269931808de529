#include "core/drain_change.h"

namespace baton::core {

std::optional<Error> RefuseDrainChange(const View& view, const NodeId& node, bool drained) {
  const MemberFact* member = view.member(node);
  if (member != nullptr && member->present) return std::nullopt;
  if (!drained && view.policy({PolicyKind::kDrain, node}) != nullptr) return std::nullopt;
  return Error{ErrorCode::kNotFound, "no node '" + node + "' in this group" +
                                         (drained ? "" : ", and no drain of that name")};
}

}  // namespace baton::core
