// NodeChangeFor: decides an operator's change of this node's weight and labels.
//
// The change lasts as long as the node's process. The node uses the new settings at once, even
// while etcd is away. The other nodes use the old settings until the node has written its new
// member record to etcd.
//
// Pure functions.
#pragma once

#include "core/context.h"

namespace baton::core {

/// Returns the settings after the change. The caller puts these settings into force. Ignores
/// `asked.dry_run`. `asked.node` must be this node's name; an empty name counts as another node's.
/// Checks the name first, then whether this node takes changes, then the settings. An operator's
/// policy kDrain does not refuse the change. Errors:
///  - kInvalidArgument: see SettingsAfter (base/node_change.h).
///  - kFailedPrecondition: the request names another node of the group. The message has that node's
///    address, if it is known.
///  - kNotFound: the request names a node that has no member key in this view.
///  - kUnavailable: this node is draining, stopping, or has ended (Context::draining,
///    Context::ended).
///  - kUnavailable: the request names another node, and the view is not complete.
Result<NodeChanged> NodeChangeFor(const Context& context, const NodeChangeRequested& asked);

}  // namespace baton::core
