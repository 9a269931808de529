// LastWords: writes the last line of a process that is about to end.
#pragma once

#include <string_view>

namespace baton {

/// Writes `line` and a newline to stderr, without the log. Cuts the line at 511 bytes. Writes only
/// the part that stderr takes at once (WriteStderrNow): a process that must end can't wait for a
/// slow reader. Any thread; allocates nothing; ignores errors.
void LastWords(std::string_view line);

}  // namespace baton
