// Translates placement rules between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. They do not check the rules: CheckPlacement
// checks them.
#pragma once

#include "base/placement.h"
#include "baton/v1/placement.pb.h"

namespace baton::runtime {

/// Appends the rules to those in `out`, so pass an empty message.
void ToProto(const Placement& placement, v1::Placement* out);
/// If a list is longer than CheckPlacement allows, copies only one element too many. So
/// CheckPlacement still refuses the result.
Placement FromProto(const v1::Placement& message);

}  // namespace baton::runtime
