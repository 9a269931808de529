// Reads from a caller's message which settings of the group the caller wants to change, and puts
// these settings into words for the audit. SetLimits is for the caller: it fills in such a message.
//
// Pure functions; any thread. Messages come from outside, so the functions accept any values.
#pragma once

#include <string>

#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

/// Returns the node's request for this change. Fills in its verb, and its number or its limits. The
/// other fields keep their defaults, also `dry_run`. Rounds delays up to whole
/// milliseconds. A number of 0 clears the setting. A DelaySetting without a delay clears the
/// setting; a delay of 0 is a value like others. kInvalidArgument, in these cases:
///  - Not exactly one of `expected_nodes`, `max_moves` and `limits` is given.
///  - `limits` is given, but has no limit.
///  - A number is above its bound (kMaxExpectedNodes, kMaxMoves).
///  - A delay, once rounded, is negative or above kLongestDurationFlag.
Result<PolicyRequest> PolicyOf(const v1::SetGroupSettingRequest& request);
/// Returns the node's request for this change. Fills in the settings that are given. The other
/// fields keep their defaults, also `dry_run`. Rounds durations up to whole milliseconds.
/// Does not check whether delays are in range (even negative ones pass), or whether the settings
/// make sense together: the node checks this. kInvalidArgument, in these cases:
///  - No setting is given.
///  - `failover` is a policy that this version does not know.
///  - Placement is given together with other settings.
///  - The placement rules are not valid (CheckPlacement).
Result<GroupChangeRequest> ChangeOf(const v1::ChangeGroupRequest& request);

/// Returns the settings in words, for example "max_moves 5, cooldown default". If PolicyOf refuses
/// the request, the text may lack settings, or be empty.
std::string SettingText(const v1::SetGroupSettingRequest& request);
/// Returns the settings that are given, in words: "failover after, failover_delay 30s". If
/// placement is given, returns only its number of rules: "placement 2 rules". Returns "no settings"
/// if no setting is given, or only a policy that this version does not know. Does not look at the
/// rules, so it is quick even for a request that ChangeOf would refuse.
std::string SettingText(const v1::ChangeGroupRequest& request);

/// Writes the limits into `message`, as PolicyOf reads them. If `max_moves` is the only limit, uses
/// the message's own field `max_moves`, which servers of all versions know. If there is no limit,
/// PolicyOf refuses the message. REQUIRES: no setting is given in `message` yet.
void SetLimits(const LimitsChange& limits, v1::SetGroupSettingRequest* message);

}  // namespace baton::runtime
