// Durations as flags, batonctl's arguments and messages write them. app/common/duration.h reads
// them.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <string>

namespace baton {

/// Writes a duration exactly, as a whole number of the largest unit (h, m, s or ms) that allows
/// this: "90s", "1m", "1500ms". Zero is "0s".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace baton
