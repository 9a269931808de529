// WriteStderrNow: stderr as if it never blocked, whatever it is and whoever else writes to it.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace baton {

/// Writes the front of `bytes` to stderr, as much as is taken at once, as write does: how much, or
/// -1 and errno, EAGAIN where its reader stands still. A file is waited for like any file. Any
/// thread; allocates nothing.
///
/// Where stderr is of the kind that blocks, O_NONBLOCK would be there for all who have it from the
/// same parent. A pipe or a terminal is therefore opened anew for the moment. Where that can't be
/// (another user's pipe or terminal, no /proc, no descriptors left), room is asked for first: then
/// a terminal with little room, or a pipe whose last room somebody else takes in between, is waited
/// for.
ssize_t WriteStderrNow(std::string_view bytes);

}  // namespace baton
