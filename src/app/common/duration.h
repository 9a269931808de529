// Durations as people write them: a whole number and a unit, "500ms", "10s", "1m", "2h".
// base/duration_text.h writes them.
#pragma once

#include <chrono>
#include <string_view>

#include "baton/result.h"

namespace baton::app {

/// Reads a duration. kInvalidArgument: it has another form (signs, fractions and bare numbers
/// except "0" are refused), or is above 1,000 hours. The message has the text and the expected
/// form, and names no flag.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace baton::app
