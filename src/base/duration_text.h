// Durations as flags, verbs and messages write them. app/common/duration.h reads them.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <string>

namespace baton {

/// Writes a duration as a whole number of the largest possible unit (h, m, s or ms): "90s", "1m",
/// "1500ms". Zero is "0s".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace baton
