// WriteStderrNow writes to stderr without blocking, whatever stderr is, and even if others write to
// it.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace baton {

/// Writes as many of the first `bytes` to stderr as it takes at once, like write(2). Returns how
/// many, or -1 with errno; EAGAIN if its reader stands still. If stderr is a file, it waits as any
/// write to a file does. Any thread; allocates nothing.
///
/// If stderr blocks, setting O_NONBLOCK would change it for every process that inherited it from
/// the same parent. So a pipe or a terminal is opened again for this write. If that is impossible
/// (another user's pipe or terminal, no /proc, no descriptors left), the call asks for room first.
/// It can then still block: on a terminal with little room, or if another process fills the pipe in
/// between.
ssize_t WriteStderrNow(std::string_view bytes);

}  // namespace baton
