// Durations as people write them: a whole number and a unit, "500ms", "10s", "1m", "2h".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::app {

/// Reads a duration. kInvalidArgument: it has another form (signs, fractions and bare numbers
/// except "0" are refused), or is above 1,000 hours. The message has the text and the expected
/// form, and names no flag.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

/// Writes a duration in the largest unit that is exact: "90s", "1m", "1500ms".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace baton::app
