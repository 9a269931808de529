// GuardSettings: the settings that a node passes to its guard. The node writes lines of JSON to the
// guard's stdin, one line for each of its RecentCredentials, the newest last. Each line has all
// settings. When the credentials change, the node writes all lines again. The lines have secrets:
// write them to no file.
//
// Plain value; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "baton/options.h"
#include "baton/result.h"
#include "baton/types.h"
#include "runtime/state_file.h"

namespace baton::runtime {

struct GuardSettings {
  std::string group = {};
  NodeId node = {};
  std::string state_dir = {};
  LockTrust trust = LockTrust::kKnownFileSystems;
  EtcdOptions etcd = {};
  /// If the node's loop makes no progress for this long (HangJudge), the guard kills the node; 0:
  /// never. If the timeout is above 0, the node passes a ProgressPage to the guard as descriptor 3.
  std::chrono::milliseconds hang_timeout{0};
  std::int64_t process = 0;  ///< the node's process id; 0: not known
};
/// The longest line that a guard reads, in bytes. If a line is longer, the guard reads no more
/// lines. If the first line is longer, the guard ends.
inline constexpr std::size_t kMaxGuardSettings = 8 << 20;

/// Returns the settings as one line, with a newline at its end. The line may exceed
/// kMaxGuardSettings.
std::string Format(const GuardSettings& settings);
/// Reads a line of Format, with or without its newline. Does not check the values. If the line
/// lacks `hang_timeout` or `process`, because an early version wrote it, the missing values are 0.
/// kInvalidArgument: `line` is not a line of Format.
Result<GuardSettings> ParseGuardSettings(std::string_view line);

}  // namespace baton::runtime
