// The force-release that an operator asks for: what has to be written for it, and why it can't be
// made.
//
// Pure functions of the view.
#pragma once

#include "base/writes.h"
#include "baton/result.h"
#include "core/context.h"
#include "core/events.h"

namespace baton::core {

/// Returns the write to send; if the request is a dry run, the caller does not send it. The only
/// error is kFailedPrecondition: the shard can't be released, or not yet; the message says why. A
/// shard can be released only if the failover policy keeps it for a node, and the session in which
/// that node last led it has ended. A damaged record names no node: it can be released only under
/// kNever, and only once no earlier leader can still lead (DamageOverAt in may_claim.h). REQUIRES:
/// the view is complete, and the shard exists.
Result<ForceRelease> ForceReleaseFor(const Context& context, const ReleaseRequested& asked);

}  // namespace baton::core
