// FormatDuration writes a duration in the form that flags, batonctl's arguments and messages use.
// app/common/duration.h reads this form.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <string>

namespace baton {

/// Writes a duration exactly, as a whole number of h, m, s or ms: "90s", "1m", "1500ms". Uses the
/// largest unit in which the number is whole. Zero is "0s". A negative duration begins with '-'.
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace baton
