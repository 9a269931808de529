// Translates placement rules between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message: CheckPlacement says whether its rules are
// sound.
#pragma once

#include "base/placement.h"
#include "baton/v1/placement.pb.h"

namespace baton::runtime {

void ToProto(const Placement& placement, v1::Placement* out);
/// Copies of each list at most one element more than CheckPlacement allows, which refuses it then.
Placement FromProto(const v1::Placement& message);

}  // namespace baton::runtime
