// LastWords: what a process that is about to end says on stderr.
#pragma once

#include <string_view>

namespace baton {

/// Writes `line` and a line's end to stderr, past the log and its queue, where stderr takes it at
/// once: no reader keeps a process alive that must end. What goes beyond 511 bytes is cut. Any
/// thread; allocates nothing.
void LastWords(std::string_view line);

}  // namespace baton
