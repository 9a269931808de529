// batond's settings under fuzzing: read, judged, and never run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace baton::fuzz {

/// Whether a text may name a file that can't be read to its end (a terminal, a kernel's own).
bool NamesDevices(std::string_view text);

/// Parses batond's command line in fixed surroundings. Whatever comes out must keep what
/// daemon_options.h promises.
void ParseAndJudge(std::vector<std::string> arguments);

}  // namespace baton::fuzz
