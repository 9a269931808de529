// WriteStderrNow: writes to stderr without blocking, with the exceptions below.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace baton {

/// Writes as much of the beginning of `bytes` as stderr takes at once. Returns how many bytes were
/// written. On an error, returns -1 and sets errno. EAGAIN: stderr takes nothing now. If stderr is
/// a file, the call waits like any write to a file. If stderr is a pipe without a reader, the call
/// raises SIGPIPE, as write(2) does. If stderr is a socket without a reader, the call only fails
/// with EPIPE. Any thread; allocates nothing.
///
/// O_NONBLOCK on stderr would change stderr for every process that shares it. So the call opens a
/// pipe or terminal a second time, with O_NONBLOCK, and writes to the new descriptor. This may be
/// impossible (another user's pipe or terminal, no /proc, no descriptor left). Then the call asks
/// whether stderr has room, and writes up to PIPE_BUF bytes. This write can block on a terminal
/// with little room, or if another process fills the pipe meanwhile.
ssize_t WriteStderrNow(std::string_view bytes);

}  // namespace baton
