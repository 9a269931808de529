// LastWords: writes the last line of a process that is about to end.
#pragma once

#include <string_view>

namespace baton {

/// Writes `line` and a newline to stderr, without the log. Writes only the part that stderr takes
/// at once (WriteStderrNow), because a slow reader must not hold up a process that must end. Cuts
/// the line at 511 bytes. Any thread; allocates nothing; ignores errors.
void LastWords(std::string_view line);

}  // namespace baton
