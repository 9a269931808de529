// Reads messages that ask to change the group's settings, and puts the settings into words for the
// audit. SetLimits is for the caller: it fills in the message.
//
// Pure functions; any thread. They accept any message.
#pragma once

#include <string>

#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/control.h"

namespace baton::runtime {

/// Returns the message as a request to Control. Fills in the verb, and the number or the limits.
/// The other fields keep their defaults, also `dry_run`. Rounds delays up to whole milliseconds. A
/// number of 0 clears the setting. A DelaySetting without a delay clears the setting; a delay of 0
/// does not. kInvalidArgument, in these cases:
///  - The message has none, or several, of `expected_nodes`, `max_moves` and `limits`.
///  - The message has `limits` without a limit.
///  - A number is above its bound (kMaxExpectedNodes, kMaxMoves).
///  - A delay, once rounded, is negative or above kLongestDurationFlag.
Result<PolicyRequest> PolicyOf(const v1::SetGroupSettingRequest& request);
/// Returns the message as a request to Control. Fills in the settings that the message has. The
/// other fields keep their defaults, also `dry_run`. Rounds durations up to whole milliseconds.
/// Does not check the range of delays: even negative delays pass. Does not check whether the
/// settings fit together. Control checks both. kInvalidArgument, in these cases:
///  - The message has no setting.
///  - The failover policy is of a newer version.
///  - The message has placement rules and other settings.
///  - The placement rules are not valid (CheckPlacement).
Result<GroupChangeRequest> ChangeOf(const v1::ChangeGroupRequest& request);

/// Returns the settings in words, for example "max_moves 5, cooldown default". If PolicyOf refuses
/// the message, the text may lack settings, or be empty.
std::string SettingText(const v1::SetGroupSettingRequest& request);
/// Returns the settings in words, for example "failover after, failover_delay 30s". If the message
/// has placement rules, returns only their number: "placement 2 rules". If the message has no
/// setting, or only a policy of a newer version, returns "no settings". Reads no rules, so it is
/// quick for any message.
std::string SettingText(const v1::ChangeGroupRequest& request);

/// Writes the limits into `message`, as PolicyOf reads them. If `max_moves` is the only limit, uses
/// the message's own field `max_moves`, which servers of all versions know. If there is no limit,
/// PolicyOf refuses the message. REQUIRES: `message` has no setting yet.
void SetLimits(const LimitsChange& limits, v1::SetGroupSettingRequest* message);

}  // namespace baton::runtime
