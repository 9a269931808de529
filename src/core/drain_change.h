// RefuseDrainChange: whether a drain of a node can be ordered, or taken back.
//
// A pure function of the view.
#pragma once

#include <optional>

#include "baton/result.h"
#include "core/view.h"

namespace baton::core {

/// Why an operator can't order a drain of `node` (`drained` is true), or can't take it back
/// (`drained` is false). Nullopt: it is possible. Errors:
///  - kNotFound: no member has this name. A drain that was ordered can be taken back even then.
///  - kFailedPrecondition: without its drain, the member may begin to lead, but it has no state
///    directory. Under FailoverPolicy::kNever it could take nothing back after a restart.
std::optional<Error> RefuseDrainChange(const View& view, const NodeId& node, bool drained);

}  // namespace baton::core
