// batond's settings under fuzzing: parsed and checked, but never run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace baton::fuzz {

/// Whether a text may name a file that can't be read to its end (a terminal, a file of the kernel).
bool NamesDevices(std::string_view text);

/// Parses batond's command line in a fixed environment, and checks that the result is as
/// daemon_options.h promises.
void ParseAndJudge(std::vector<std::string> arguments);

}  // namespace baton::fuzz
