// WholeNumber: checks that the text of a flag or argument of batonctl is a whole number. Any
// thread.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace baton::app {

/// Accepts decimal digits alone. The message names the bounds, which are accepted themselves.
/// (The parser's own conversion takes "-1" for the greatest number of 64 bits.)
CLI::Validator WholeNumber(std::uint64_t least, std::uint64_t most);

}  // namespace baton::app
