// Durations as people write them: a whole number and a unit, "500ms", "10s", "1m", "2h".
// base/duration_text.h formats durations.
#pragma once

#include <chrono>
#include <string_view>

#include "baton/result.h"

namespace baton::app {

/// Reads a duration. The units are "ms", "s", "m" and "h". Only "0" may stand without a unit.
/// Signs, fractions and spaces are not allowed. kInvalidArgument: the text has another form, or the
/// duration is above 1,000 hours. The message repeats the text and says what was expected, but
/// names no flag. Pure; any thread.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace baton::app
