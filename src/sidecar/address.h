// Where a sidecar listens: a unix socket or a loopback port, and nothing that others can reach.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::sidecar {

struct Address {
  std::string path;  ///< of the unix socket; empty: TCP
  std::string host;  ///< numeric loopback, without brackets
  std::uint16_t port = 0;
};

/// "unix:/path", "127.0.0.1:port" or "[::1]:port" (port 0 picks one). kInvalidArgument: the message
/// has the text and what was expected, without naming a flag.
Result<Address> ParseAddress(std::string_view text);
/// As ParseAddress reads it, which is also how gRPC clients in any language name it.
std::string FormatAddress(const Address& address);

}  // namespace baton::sidecar
