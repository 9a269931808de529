// Unix sockets to listen on, which only their owner and root can open.
#pragma once

#include <cstddef>
#include <string>

#include "baton/result.h"

namespace baton {

/// The most bytes that the path of a unix socket may have.
inline constexpr std::size_t kLongestSocketPath = 107;

/// Makes a socket that is bound to `path`, for this user alone (mode 600); it does not block, and
/// does not listen yet. Replaces a socket file that nobody listens on. kUnavailable: one line that
/// says why not, without the path. The caller removes the file before it closes the socket: once
/// nobody listens, another process may take the path. Any thread. REQUIRES: `path` has at most
/// kLongestSocketPath bytes.
Result<int> BindUnixSocket(const std::string& path);

}  // namespace baton
