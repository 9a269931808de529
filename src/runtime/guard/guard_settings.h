// GuardSettings: the settings that a node passes to its guard, on the guard's stdin: one line of
// JSON, and another line whenever the credentials for etcd change. They contain secrets, so they
// must never be written to a file.
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
  /// If the node makes no progress for this long, the guard kills it; 0: never. Unless it is 0, the
  /// guard's descriptor 3 is a ProgressPage.
  std::chrono::milliseconds hang_timeout{0};
  std::int64_t process = 0;  ///< the node's process id; 0: an early version did not say it
};
/// The most bytes of a line. Certificates are its largest part.
inline constexpr std::size_t kMaxGuardSettings = 8 << 20;

/// One line, with a newline at its end.
std::string Format(const GuardSettings& settings);
/// kInvalidArgument: `line` is not such a line.
Result<GuardSettings> ParseGuardSettings(std::string_view line);

}  // namespace baton::runtime
