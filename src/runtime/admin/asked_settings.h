// The settings of the group that a caller of AdminService asks for: read from its message, and as
// words for the audit.
//
// Pure functions; any thread. Messages come from outside, so the functions accept any values.
#pragma once

#include <string>

#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

/// The policy that sets the setting. Only its verb and number are filled in. kInvalidArgument: not
/// exactly one setting is given, or the number is too large.
Result<PolicyRequest> PolicyOf(const v1::SetGroupSettingRequest& request);
/// The change of the settings. Only the settings are filled in; durations are rounded up to
/// milliseconds. kInvalidArgument: no setting is given, or this version does not know the policy.
/// The node finds out whether the settings make sense together.
Result<GroupChangeRequest> ChangeOf(const v1::ChangeGroupRequest& request);

/// "max_moves 5".
std::string SettingText(const v1::SetGroupSettingRequest& request);
/// The settings that are given: "failover after, failover_delay 30s". If ChangeOf fails: "no
/// settings".
std::string SettingText(const v1::ChangeGroupRequest& request);

}  // namespace baton::runtime
