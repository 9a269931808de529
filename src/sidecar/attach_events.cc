#include "sidecar/attach_events.h"

namespace baton::sidecar {

using core::CallbackKind;
using v1::AttachEvent;

namespace {

AttachEvent::Kind KindOf(CallbackKind kind) {
  switch (kind) {
    case CallbackKind::kPrepare: return AttachEvent::KIND_PREPARE;
    case CallbackKind::kAcquired: return AttachEvent::KIND_ACQUIRED;
    case CallbackKind::kReleasing: return AttachEvent::KIND_RELEASING;
    case CallbackKind::kLost: return AttachEvent::KIND_LOST;
    case CallbackKind::kSuspended: return AttachEvent::KIND_SUSPENDED;
    case CallbackKind::kResumed: return AttachEvent::KIND_RESUMED;
    case CallbackKind::kStandby: return AttachEvent::KIND_STANDBY;
    case CallbackKind::kStandbyEnded: return AttachEvent::KIND_STANDBY_ENDED;
  }
  return AttachEvent::KIND_UNSPECIFIED;
}

}  // namespace

bool IsAnswered(CallbackKind kind) {
  return kind != CallbackKind::kSuspended && kind != CallbackKind::kResumed;
}

AttachEvent EventOf(AttachEvent::Kind kind, ShardId shard, Term term) {
  AttachEvent event;
  event.set_kind(kind);
  event.set_shard(shard.value);
  event.set_term(term.value);
  return event;
}

AttachEvent EventOf(const core::RunCallback& callback) {
  // An event about standing by is not about a leadership, so it has no term and no reason.
  const bool standby = IsOfStandby(callback.kind);
  AttachEvent event =
      EventOf(KindOf(callback.kind), callback.shard, standby ? Term{} : callback.term);
  if (!standby) event.set_reason(ToString(callback.reason));
  if (IsAnswered(callback.kind)) event.set_operation(callback.operation);
  return event;
}

}  // namespace baton::sidecar
