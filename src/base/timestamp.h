// Wall-clock time as people and JSON write it.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

/// Returns the time in RFC 3339 and UTC, rounded down to milliseconds: 2026-01-02T03:04:05.678Z.
std::string Timestamp(std::chrono::system_clock::time_point time);

/// Reads a time in exactly the form 2027-01-01T00:00:00Z (RFC 3339, UTC, whole seconds). nullopt:
/// the text has another form, or there is no such date or time.
std::optional<std::chrono::sys_seconds> TimeNamed(std::string_view text);

}  // namespace baton
