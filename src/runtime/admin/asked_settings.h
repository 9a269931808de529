// The settings of the group that a caller of AdminService asks for, read from its message, and in
// words for the audit.
//
// Pure functions; any thread. Messages come from outside, so any values are accepted.
#pragma once

#include <string>

#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

/// The policy that sets the setting; only its verb and number are set. kInvalidArgument: not
/// exactly one setting is given, or the number is too great.
Result<PolicyRequest> PolicyOf(const v1::SetGroupSettingRequest& request);
/// Only the settings are set. kInvalidArgument: none is given, or one is no such setting. Whether
/// they make sense together, the node finds out.
Result<GroupChangeRequest> ChangeOf(const v1::ChangeGroupRequest& request);

/// "max_moves 5".
std::string SettingText(const v1::SetGroupSettingRequest& request);
/// "failover after, failover_delay 30s": what is given.
std::string SettingText(const v1::ChangeGroupRequest& request);

}  // namespace baton::runtime
