// The events of sidecar.proto, made from the callbacks of a node. Pure functions; any thread.
#pragma once

#include "baton/types.h"
#include "baton/v1/sidecar.pb.h"
#include "core/events.h"

namespace baton::sidecar {

/// Whether the application answers the callback's event: true for all except kSuspended and
/// kResumed. Only answered events have an operation.
bool IsAnswered(core::CallbackKind kind);

/// The callback's event. An event about standing by has no term and no reason.
v1::AttachEvent EventOf(const core::RunCallback& callback);
/// An event without a reason and an operation.
v1::AttachEvent EventOf(v1::AttachEvent::Kind kind, ShardId shard, Term term);

}  // namespace baton::sidecar
