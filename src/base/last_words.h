// LastWords writes the last line of a process that is about to end.
#pragma once

#include <string_view>

namespace baton {

/// Writes `line` and a newline to stderr, past the log and its queue, as far as stderr takes it at
/// once: a slow reader must not keep alive a process that must end. Cuts the line at 511 bytes. Any
/// thread; allocates nothing.
void LastWords(std::string_view line);

}  // namespace baton
