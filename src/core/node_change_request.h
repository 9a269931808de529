// What becomes of an operator's change of this node's weight and labels.
//
// The node itself changes its settings, for as long as its process lives. In etcd only its member
// record has them. So the request is answered at once, also while etcd is away. The record follows
// when etcd answers; until then the other nodes use the old settings.
//
// Pure functions.
#pragma once

#include "core/context.h"

namespace baton::core {

/// The settings after the change. kInvalidArgument: see SettingsAfter. kFailedPrecondition: the
/// request names another node of the group; the message says where to ask that one. kNotFound: no
/// such node. kUnavailable: this node is stopping.
Result<NodeChanged> NodeChangeFor(const Context& context, const NodeChangeRequested& asked);

}  // namespace baton::core
