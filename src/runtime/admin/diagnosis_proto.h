// Translates a diagnosis between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. If a severity is not set, or is of a newer
// version, FromProto sets kProblem.
#pragma once

#include "baton/v1/admin.pb.h"
#include "runtime/doctor/finding.h"

namespace baton::runtime {

/// Appends the findings to those in `out`, so pass an empty message.
void ToProto(const Diagnosis& diagnosis, v1::DiagnoseResponse* out);
Diagnosis FromProto(const v1::DiagnoseResponse& message);

}  // namespace baton::runtime
