// Reads from a caller's message which settings of the group the caller wants to change, and puts
// them into words for the audit. Also writes the limits into such a message.
//
// Pure functions; any thread. Messages come from outside, so the functions accept any values.
#pragma once

#include <string>

#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

/// The request that changes the setting. It has the verb, and the number or the limits; its other
/// fields are not filled in. Delays are rounded up to milliseconds. kInvalidArgument: none or
/// several of `expected_nodes`, `max_moves` and `limits` are given, `limits` is empty, a number is
/// too large, or a delay is negative or too large. A number of 0 clears the setting. A DelaySetting
/// without a delay clears the setting, too; a delay of 0 is a value.
Result<PolicyRequest> PolicyOf(const v1::SetGroupSettingRequest& request);
/// The request that changes the settings. Its other fields are not filled in. Durations are rounded
/// up to milliseconds. kInvalidArgument: no setting is given, `failover` is a policy that this
/// version does not know, placement rules are not valid (CheckPlacement), or placement is given
/// with other settings. Does not check whether delays are in range (even negative ones pass), or
/// whether the settings make sense together: the node does.
Result<GroupChangeRequest> ChangeOf(const v1::ChangeGroupRequest& request);

/// For example "max_moves 5, cooldown default". If PolicyOf refuses the request, the text means
/// nothing.
std::string SettingText(const v1::SetGroupSettingRequest& request);
/// The settings that are given: "failover after, failover_delay 30s", or "placement 2 rules". "no
/// settings": none is, or only a policy that this version does not know. Looks at no rule, and is
/// as quick for a request that ChangeOf refuses.
std::string SettingText(const v1::ChangeGroupRequest& request);

/// Asks for these limits. Max-moves alone is asked for in the form that all versions know.
void SetLimits(const LimitsChange& limits, v1::SetGroupSettingRequest* message);

}  // namespace baton::runtime
