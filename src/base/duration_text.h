// Durations as flags, verbs and messages have them.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <string>

namespace baton {

/// Writes a duration in the largest unit that is exact: "90s", "1m", "1500ms".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace baton
