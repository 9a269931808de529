// GuardSettings: the settings that a node passes to its guard. The node writes them to the guard's
// stdin as lines of JSON, each with all settings: one line for each of its RecentCredentials, the
// newest last; and all lines again when these change. They have secrets: write them to no file.
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
  /// never. If it is above 0, the guard's descriptor 3 is a ProgressPage.
  std::chrono::milliseconds hang_timeout{0};
  std::int64_t process = 0;  ///< the node's process id; 0: an early version wrote the line
};
/// The longest line that a guard reads, in bytes. Certificates are its largest part.
inline constexpr std::size_t kMaxGuardSettings = 8 << 20;

/// One line, with a newline at its end. It may be longer than kMaxGuardSettings.
std::string Format(const GuardSettings& settings);
/// Reads such a line, with or without its newline. Does not check the values. kInvalidArgument:
/// `line` is not such a line.
Result<GuardSettings> ParseGuardSettings(std::string_view line);

}  // namespace baton::runtime
