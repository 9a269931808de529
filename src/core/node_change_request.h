// NodeChangeFor: decides an operator's change of this node's weight and labels.
//
// The node itself changes its settings, for as long as its process lives. In etcd only its member
// record has these settings. So the request is answered at once, also while etcd is away. The
// record follows when etcd answers. Until then the other nodes use the old settings.
//
// Pure functions.
#pragma once

#include "core/context.h"

namespace baton::core {

/// Returns the settings after the change; the caller puts them into force. Ignores `asked.dry_run`.
/// Errors:
///  - kInvalidArgument: see SettingsAfter (base/node_change.h).
///  - kFailedPrecondition: the request names another node of the group. The message has that node's
///    address, if it is known.
///  - kNotFound: the request names a node that has no member key in this view.
///  - kUnavailable: this node is draining, stopping, or has ended (Context::draining,
///    Context::ended). Or the request names another node, and the view is not complete.
Result<NodeChanged> NodeChangeFor(const Context& context, const NodeChangeRequested& asked);

}  // namespace baton::core
