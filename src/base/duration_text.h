// FormatDuration writes a duration in the form that flags, batonctl's arguments and messages have.
// app/common/duration.h reads this form.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <string>

namespace baton {

/// Writes a duration exactly, as a whole number of the largest unit (h, m, s or ms) that allows
/// this: "90s", "1m", "1500ms". Zero is "0s". A negative duration begins with '-'.
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace baton
