// Causes in the messages of AdminService that have one. Pure; any thread.
#pragma once

#include "baton/cause.h"
#include "baton/v1/cause.pb.h"

namespace baton::runtime {

v1::Cause ToProto(const Cause& cause);
/// A kind of a newer version is kUnknown.
Cause FromProto(const v1::Cause& message);

/// Leaves the field out if the cause is not known.
template <typename Message>
void SetCause(const Cause& cause, Message* out) {
  if (cause.kind != CauseKind::kUnknown) *out->mutable_cause() = ToProto(cause);
}

}  // namespace baton::runtime
