// The events of sidecar.proto, made from the callbacks of a node. Pure functions; any thread.
#pragma once

#include "baton/types.h"
#include "baton/v1/sidecar.pb.h"
#include "core/events.h"

namespace baton::sidecar {

/// Whether the application must answer events of this kind. True for all kinds except kSuspended
/// and kResumed. Only events that must be answered have an operation.
bool IsAnswered(core::CallbackKind kind);

/// Returns the callback's event. An event of a standby callback has no term and no reason.
v1::AttachEvent EventOf(const core::RunCallback& callback);
/// Returns an event that has neither a reason nor an operation.
v1::AttachEvent EventOf(v1::AttachEvent::Kind kind, ShardId shard, Term term);

}  // namespace baton::sidecar
