// WholeNumber: checks that a flag or argument of batonctl is a whole number. Any thread.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace baton::app {

/// Accepts a text of decimal digits, without a needless 0 at the beginning, whose number is from
/// `least` to `most`. The error message names both bounds. (CLI11 alone would read "-1" as the
/// greatest number of 64 bits, and "010" as 8.)
CLI::Validator WholeNumber(std::uint64_t least, std::uint64_t most);

}  // namespace baton::app
