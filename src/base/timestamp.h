// Timestamp: wall-clock time as people and JSON write it.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

/// RFC 3339 in UTC, truncated to milliseconds: 2026-01-02T03:04:05.678Z.
std::string Timestamp(std::chrono::system_clock::time_point time);

/// Reads RFC 3339 in UTC and whole seconds: 2027-01-01T00:00:00Z. nullopt: it is not that, or there
/// is no such date.
std::optional<std::chrono::sys_seconds> TimeNamed(std::string_view text);

}  // namespace baton
