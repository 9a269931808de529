// RefuseDrainChange: whether a drain of a node can be ordered, or taken back.
//
// A pure function of the view.
#pragma once

#include <optional>

#include "baton/result.h"
#include "core/view.h"

namespace baton::core {

/// Why an operator can't order a drain of `node` (`drained` is true), or can't take it back
/// (`drained` is false). Nullopt: the operator can. If the node has a member key, a drain that was
/// never ordered can be taken back, too. Errors:
///  - kNotFound: no member key has this name. A drain in force can be taken back even then.
///  - kFailedPrecondition: under FailoverPolicy::kNever, the request takes back the drain of a
///    member with a weight above 0 and without a state directory. Such a member would begin to
///    lead, and could take nothing back after a restart.
///
/// REQUIRES (not checked): the view is complete.
std::optional<Error> RefuseDrainChange(const View& view, const NodeId& node, bool drained);

}  // namespace baton::core
