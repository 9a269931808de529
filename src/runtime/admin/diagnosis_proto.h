// Translates a diagnosis between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. An unknown severity, of a newer version,
// becomes "problem".
#pragma once

#include "baton/v1/admin.pb.h"
#include "runtime/doctor/finding.h"

namespace baton::runtime {

void ToProto(const Diagnosis& diagnosis, v1::DiagnoseResponse* out);
Diagnosis FromProto(const v1::DiagnoseResponse& message);

}  // namespace baton::runtime
