// WriteStderrNow: writes to stderr without blocking, with the exceptions below.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace baton {

/// Writes as much of the beginning of `bytes` as stderr takes at once. Returns the number of bytes
/// that were written, or -1 and sets errno. EAGAIN: stderr takes nothing now. If stderr is a file,
/// the call waits as any write to a file does. If stderr is a pipe without a reader, the call
/// raises SIGPIPE, as write(2) does; a socket without a reader gives only EPIPE. Any thread;
/// allocates nothing.
///
/// O_NONBLOCK can't be set on stderr, because this would change stderr for every process that
/// shares it. So the call opens a pipe or a terminal a second time, with O_NONBLOCK, and writes to
/// that. If this is impossible (another user's pipe or terminal, no /proc, no descriptor left), the
/// call asks whether there is room, and then writes up to PIPE_BUF bytes. This write can still
/// block: on a terminal with little room, or if another process fills the pipe meanwhile.
ssize_t WriteStderrNow(std::string_view bytes);

}  // namespace baton
