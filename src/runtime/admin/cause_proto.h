// Translates the cause of a leadership between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message.
#pragma once

#include "baton/cause.h"
#include "baton/v1/cause.pb.h"

namespace baton::runtime {

v1::Cause ToProto(const Cause& cause);
/// If the message's kind is not set, or is of a newer version, returns kUnknown, without rule and
/// detail.
Cause FromProto(const v1::Cause& message);

/// Sets the field `cause` of `out`. Does nothing if the cause is kUnknown.
template <typename Message>
void SetCause(const Cause& cause, Message* out) {
  if (cause.kind != CauseKind::kUnknown) *out->mutable_cause() = ToProto(cause);
}

}  // namespace baton::runtime
