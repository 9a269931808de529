// The rules of placement in the record of a group's config. Pure functions; any thread.
#pragma once

#include "base/placement.h"
#include "baton/v1/records.pb.h"

namespace baton::etcd {

/// Reads the rules as they are. They may be out of bounds: see CheckPlacement.
Placement LoadPlacement(const ::baton::v1::ConfigRecord& config);
/// Adds the rules. REQUIRES (not checked): the config has no rules yet.
void StorePlacement(const Placement& placement, ::baton::v1::ConfigRecord* config);

}  // namespace baton::etcd
