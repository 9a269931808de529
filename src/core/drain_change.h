// RefuseDrainChange: whether a drain of a node can be ordered, or taken back.
//
// A pure function of the view.
#pragma once

#include <optional>

#include "baton/result.h"
#include "core/view.h"

namespace baton::core {

/// Why an operator can't order a drain of `node` (`drained` is true), or can't take it back
/// (`drained` is false). Nullopt: it is possible. To take back a drain that was not ordered is
/// possible, too, if the node is a member. Errors:
///  - kNotFound: no member key has this name. But a drain in force can be taken back even then.
///  - kFailedPrecondition: a drain in force can't be taken back, because the policy is
///    FailoverPolicy::kNever, and the member has a weight above 0 and no state directory. It would
///    begin to lead, and could take nothing back after a restart.
///
/// REQUIRES (not checked): the view is complete.
std::optional<Error> RefuseDrainChange(const View& view, const NodeId& node, bool drained);

}  // namespace baton::core
