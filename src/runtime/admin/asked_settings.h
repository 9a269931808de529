// Reads from a caller's message which settings of the group it wants to change, and says them in
// words for the audit.
//
// Pure functions; any thread. Messages come from outside, so the functions accept any values.
#pragma once

#include <string>

#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

/// The request that changes the setting. Only its verb, and its number or limits are filled in;
/// delays are rounded up to milliseconds. kInvalidArgument: none or several settings are given, a
/// number is too large, or a delay is negative or too large. 0 clears a number. A delay that is not
/// given in its setting clears it; a delay of 0 is a value.
Result<PolicyRequest> PolicyOf(const v1::SetGroupSettingRequest& request);
/// The change of the settings. Only the settings are filled in; durations are rounded up to
/// milliseconds. kInvalidArgument: no setting is given, `failover` is a policy that this version
/// does not know, or placement rules are malformed or given with other settings. The node finds out
/// whether delays are in range, not negative either, and whether the settings make sense together.
Result<GroupChangeRequest> ChangeOf(const v1::ChangeGroupRequest& request);

/// For example "max_moves 5, cooldown default". REQUIRES: PolicyOf accepts the request; otherwise
/// the text means nothing.
std::string SettingText(const v1::SetGroupSettingRequest& request);
/// The settings that are given: "failover after, failover_delay 30s". If ChangeOf fails: "no
/// settings".
std::string SettingText(const v1::ChangeGroupRequest& request);

}  // namespace baton::runtime
