// Reads placement rules from the record of a group's config, and stores them there. Pure functions;
// any thread.
#pragma once

#include "base/placement.h"
#include "baton/v1/records.pb.h"

namespace baton::etcd {

/// Returns the record's rules, unchecked: a rule may break the limits of CheckPlacement.
Placement LoadPlacement(const ::baton::v1::ConfigRecord& config);
/// Adds the rules to `config`. REQUIRES (not checked): `config` has no rules yet.
void StorePlacement(const Placement& placement, ::baton::v1::ConfigRecord* config);

}  // namespace baton::etcd
