// ForceReleaseFor: returns the write for the force-release that an operator asks for, or why the
// release can't be made.
//
// Pure functions of the view.
#pragma once

#include "base/writes.h"
#include "baton/result.h"
#include "core/context.h"
#include "core/events.h"

namespace baton::core {

/// Returns the write. If the request is a dry run, the caller does not send the write. The only
/// error is kFailedPrecondition: the shard can't be released, or not yet. The message says why. A
/// shard can be released in two cases:
///  - Its record names a leader, or a node that resigned the shard in order to stop (OwnerOf in
///    may_claim.h). The session in the record has ended, and the failover policy is kAfter or
///    kNever. It does not matter whether the delay of kAfter is over.
///  - Its record is damaged, the policy is kNever, and no earlier leader can still lead
///    (DamageOverAt in may_claim.h).
///
/// So a shard with a record of a newer schema, or without a record, can't be released. REQUIRES:
/// the view is complete, and the shard exists.
Result<ForceRelease> ForceReleaseFor(const Context& context, const ReleaseRequested& asked);

}  // namespace baton::core
