// The group's settings, as `batonctl group set` takes them: as words SETTING=VALUE.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/facts.h"
#include "baton/result.h"
#include "runtime/control.h"

namespace baton::app {

// The names of the settings on the command line.
inline constexpr const char* kExpectedNodesSetting = "expected-nodes";
inline constexpr const char* kMaxMovesSetting = "max-moves";
inline constexpr const char* kRebalanceDelaySetting = "rebalance-delay";
inline constexpr const char* kCooldownSetting = "cooldown";
/// The value that clears max-moves, rebalance-delay or cooldown. After that, each node's own option
/// counts again.
inline constexpr const char* kDefaultValue = "default";
inline constexpr const char* kFailoverSetting = "failover";
inline constexpr const char* kFailoverDelaySetting = "failover-delay";
inline constexpr const char* kLockDelaySetting = "lock-delay";

/// The settings that one command changes. One command can set expected_nodes, or `limits`, or any
/// of the other three, but not settings of two of these kinds. A setting that is unset stays as it
/// is in the group.
struct GroupSettings {
  std::optional<std::uint32_t> expected_nodes = {};  ///< 0 clears the setting
  LimitsChange limits = {};
  std::optional<FailoverPolicy> failover = {};
  std::optional<std::chrono::milliseconds> failover_delay = {};
  std::optional<std::chrono::milliseconds> lock_delay = {};
};

/// Reads words such as "failover=after" and "failover-delay=30s", or one setting and its value as
/// two words. If there are no words, the result sets nothing. Upper and lower case differ.
/// kInvalidArgument, with a message of one line:
///  - A setting or value is not known or malformed, or a word has no value.
///  - A setting is given twice, or together with settings of another kind (GroupSettings).
///  - A number of moves or nodes, a rebalance-delay or a cooldown is out of its bounds. 0 is out of
///    bounds for max-moves. For expected-nodes, 0 clears the setting.
///  - Another duration is above 1,000 hours.
/// The node checks the bounds of failover-delay and lock-delay, and whether the settings make sense
/// together.
Result<GroupSettings> ParseGroupSettings(const std::vector<std::string>& words);

/// Returns the settings that are set, as the words that set them: "max-moves=8 cooldown=default".
std::string GroupSettingsWords(const GroupSettings& settings);
/// Whether the group has all of these settings already, as far as the status shows.
bool Holds(const GroupSettings& settings, const runtime::NodeStatus& status);

}  // namespace baton::app
