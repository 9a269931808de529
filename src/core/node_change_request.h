// NodeChangeFor: decides an operator's change of this node's weight and labels.
//
// The node itself changes its settings, for as long as its process lives. In etcd only its member
// record has them. So the request is answered at once, also while etcd is away. The record follows
// when etcd answers; until then the other nodes use the old settings.
//
// Pure functions.
#pragma once

#include "core/context.h"

namespace baton::core {

/// The settings after the change; they are not set here. Errors:
///  - kInvalidArgument: see SettingsAfter (base/node_change.h).
///  - kFailedPrecondition: the request names another node of the group. The message has that node's
///    address, if it is known.
///  - kNotFound: the request names a node that has no member key in this view.
///  - kUnavailable: this node is stopping, or has halted; or the request names another node, and
///    the view is not complete.
Result<NodeChanged> NodeChangeFor(const Context& context, const NodeChangeRequested& asked);

}  // namespace baton::core
