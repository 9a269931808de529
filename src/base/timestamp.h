// Wall-clock time as people and JSON write it.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

/// Writes RFC 3339 in UTC, rounded down to milliseconds, such as 2026-01-02T03:04:05.678Z.
std::string Timestamp(std::chrono::system_clock::time_point time);

/// Reads RFC 3339 in UTC with whole seconds, exactly in the form 2027-01-01T00:00:00Z. nullopt: the
/// text has another form, or there is no such date or time.
std::optional<std::chrono::sys_seconds> TimeNamed(std::string_view text);

}  // namespace baton
