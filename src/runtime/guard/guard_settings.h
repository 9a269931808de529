// GuardSettings: the settings that a node passes to its guard. The node writes lines of JSON to the
// guard's stdin. Each line has all settings, with one of the node's RecentCredentials. There is one
// line for each of these credentials, and the newest is last. When the credentials change, the node
// writes all lines again. The lines have secrets: write them to no file.
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
  /// never. If the timeout is above 0, the node passes a ProgressPage as the guard's descriptor 3.
  std::chrono::milliseconds hang_timeout{0};
  std::int64_t process = 0;  ///< the node's process id; 0: an early version wrote the line
};
/// The longest line that a guard reads, in bytes. Certificates are the largest part of a line. If
/// a line is longer, the guard reads no more lines; if it is the first line, the guard ends.
inline constexpr std::size_t kMaxGuardSettings = 8 << 20;

/// Returns the settings as one line, with a newline at its end. The line may be longer than
/// kMaxGuardSettings.
std::string Format(const GuardSettings& settings);
/// Reads a line of Format, with or without its newline. Does not check the values.
/// kInvalidArgument: `line` is not a line of Format. A line of an early version has no
/// `hang_timeout` or `process`, which are 0 then.
Result<GuardSettings> ParseGuardSettings(std::string_view line);

}  // namespace baton::runtime
