// BindUnixSocket: makes a unix socket to listen on. Only this process's user and root can connect.
#pragma once

#include <cstddef>
#include <string>

#include "baton/result.h"

namespace baton {

/// The most bytes that the path of a unix socket may have.
inline constexpr std::size_t kLongestSocketPath = 107;

/// Returns a non-blocking socket that is bound to `path` and does not listen yet. The caller owns
/// the socket. Its file has mode 600. If `path` is a socket file on which nobody listens, replaces
/// the file. Replaces no other file. In the end, the caller must first remove the file and then
/// close the socket: once nobody listens, another process may put its own socket at `path`.
/// kUnavailable: the socket can't be bound, for example because another process listens there. The
/// message says why in one line, without the path. Any thread. REQUIRES (checked): `path` has at
/// most kLongestSocketPath bytes. REQUIRES (not checked): `path` is not empty.
Result<int> BindUnixSocket(const std::string& path);

}  // namespace baton
