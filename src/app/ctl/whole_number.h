// WholeNumber: checks that the text of a flag or argument of batonctl is a whole number. Any
// thread.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace baton::app {

/// Accepts a text that has only decimal digits, does not begin with a needless 0, and is a number
/// from `least` to `most`. The error message names these bounds. (Without this check, CLI11 would
/// read "-1" as the greatest number of 64 bits, and "010" as 8.)
CLI::Validator WholeNumber(std::uint64_t least, std::uint64_t most);

}  // namespace baton::app
