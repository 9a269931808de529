// The group's settings as `batonctl group set` takes them: SETTING=VALUE words.
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

// The settings, as verbs name them.
inline constexpr const char* kExpectedNodesSetting = "expected-nodes";
inline constexpr const char* kMaxMovesSetting = "max-moves";
inline constexpr const char* kRebalanceDelaySetting = "rebalance-delay";
inline constexpr const char* kCooldownSetting = "cooldown";
/// The value that clears max-moves, rebalance-delay or cooldown: each node's own option counts
/// again.
inline constexpr const char* kDefaultValue = "default";
inline constexpr const char* kFailoverSetting = "failover";
inline constexpr const char* kFailoverDelaySetting = "failover-delay";
inline constexpr const char* kLockDelaySetting = "lock-delay";

/// The settings that one command changes: expected_nodes alone; or limits alone; or any of the
/// other three. A setting that is unset stays as it is.
struct GroupSettings {
  std::optional<std::uint32_t> expected_nodes = {};  ///< 0: no longer set
  LimitsChange limits = {};
  std::optional<FailoverPolicy> failover = {};
  std::optional<std::chrono::milliseconds> failover_delay = {};
  std::optional<std::chrono::milliseconds> lock_delay = {};
};

/// Reads words such as "failover=after" and "failover-delay=30s", or one setting and its value as
/// two words. No words: nothing is set. Upper and lower case differ. kInvalidArgument: a word is
/// unknown or malformed; a setting is given twice, or beside settings that one command can't change
/// with it (GroupSettings); a number of moves or nodes, a rebalance-delay or a cooldown is out of
/// its bounds; or another duration is above 1,000 hours. max-moves=0 is out of its bounds;
/// expected-nodes=0 clears that setting. The message is one line. The node checks the bounds of
/// failover-delay and lock-delay, and whether the settings make sense together.
Result<GroupSettings> ParseGroupSettings(const std::vector<std::string>& words);

/// The settings as the words that set them: "max-moves=8 cooldown=default".
std::string GroupSettingsWords(const GroupSettings& settings);
/// Whether the group has all of these settings already, as far as the status shows.
bool Holds(const GroupSettings& settings, const runtime::NodeStatus& status);

}  // namespace baton::app
