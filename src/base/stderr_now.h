// WriteStderrNow: writes to stderr without blocking, with the exceptions below.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace baton {

/// Writes the first part of `bytes` that stderr takes at once, like write(2). Returns the number of
/// bytes that were written, or -1 and sets errno; EAGAIN: stderr takes nothing now. If stderr is a
/// file, the call waits as any write to a file does. If it is a pipe without a reader, the call
/// raises SIGPIPE, as write(2) does. Any thread; allocates nothing.
///
/// O_NONBLOCK can't be set on stderr, because this would change it for every process that shares
/// it. So the call opens a pipe or a terminal a second time, with O_NONBLOCK, and writes to that.
/// If this is impossible (another user's pipe or terminal, no /proc, no descriptor left), the call
/// first asks whether there is room. It can then still block: on a terminal with little room, or if
/// another process fills the pipe meanwhile.
ssize_t WriteStderrNow(std::string_view bytes);

}  // namespace baton
