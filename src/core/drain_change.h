// RefuseDrainChange: whether a drain of a node can be ordered, or taken back.
//
// A pure function of the view.
#pragma once

#include <optional>

#include "baton/result.h"
#include "core/view.h"

namespace baton::core {

/// Why an operator's drain of `node` can't be ordered (`drained` is true) or taken back. kNotFound:
/// nobody knows the node. The drain of a node that has left can be taken back. Nullopt: it can.
std::optional<Error> RefuseDrainChange(const View& view, const NodeId& node, bool drained);

}  // namespace baton::core
