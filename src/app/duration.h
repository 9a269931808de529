// Durations as people write them: a whole number and a unit, "500ms", "10s", "1m", "2h".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::app {

/// kInvalidArgument: not of this form (no sign, no fraction, no bare number but "0"), or beyond
/// 1,000 hours. The message has the text and the expected form, without naming a flag.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

/// In the largest unit that says it exactly: "90s", "1m", "1500ms".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace baton::app
