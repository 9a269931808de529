// The address that a sidecar listens on: a unix socket or a loopback port, so that no other host
// can reach the sidecar. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::sidecar {

struct Address {
  std::string path;  ///< the unix socket's absolute path; empty: TCP
  std::string host;  ///< a numeric loopback address, without brackets; empty if `path` is set
  std::uint16_t port = 0;
};

/// Reads "unix:/path" (also as "unix:///path"), "127.0.0.1:port" (any 127.x.y.z) or "[::1]:port".
/// Port 0 picks a free port. kInvalidArgument: the text has another form, the path has more than
/// kLongestSocketPath bytes, or the host is a name or not loopback. The message has the text, says
/// what was expected, and names no flag.
Result<Address> ParseAddress(std::string_view text);
/// Writes an address as ParseAddress reads it. gRPC clients in any language accept this form.
std::string FormatAddress(const Address& address);

}  // namespace baton::sidecar
