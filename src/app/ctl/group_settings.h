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

/// The settings that one command changes. There are three kinds of settings: expected_nodes,
/// `limits`, and the other three. One command can't change settings of two kinds. A setting that is
/// unset stays as it is in the group.
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
///  - A setting is not known, a value is malformed, or a word has no value.
///  - A setting is given twice, or together with settings of another kind (GroupSettings).
///  - expected-nodes, max-moves, rebalance-delay or cooldown is out of its bounds. For max-moves, 0
///    is out of bounds. For expected-nodes, 0 clears the setting.
///  - failover-delay or lock-delay is above 1,000 hours.
/// The node checks the narrower bounds of failover-delay and lock-delay, and whether the settings
/// make sense together.
Result<GroupSettings> ParseGroupSettings(const std::vector<std::string>& words);

/// Returns the settings that are set, as the words that set them: "max-moves=8 cooldown=default".
std::string GroupSettingsWords(const GroupSettings& settings);
/// Whether the group has all of these settings already, as far as the status shows.
bool Holds(const GroupSettings& settings, const runtime::NodeStatus& status);

}  // namespace baton::app
