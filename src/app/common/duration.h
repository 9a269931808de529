// Durations as people write them: a whole number and a unit, "500ms", "10s", "1m", "2h".
// base/duration_text.h writes them.
#pragma once

#include <chrono>
#include <string_view>

#include "baton/result.h"

namespace baton::app {

/// Reads a duration. The units are "ms", "s", "m" and "h"; only "0" needs none. kInvalidArgument:
/// the text has another form (no sign, fraction or space is allowed), or is above 1,000 hours. The
/// message has the text and what was expected, and names no flag. Pure; any thread.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace baton::app
