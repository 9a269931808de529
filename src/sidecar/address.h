// The address that a sidecar listens on: a unix socket or a loopback port, never one that other
// hosts can reach.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::sidecar {

struct Address {
  std::string path;  ///< of the unix socket; empty: TCP
  std::string host;  ///< numeric loopback address, without brackets
  std::uint16_t port = 0;
};

/// Reads "unix:/path", "127.0.0.1:port" or "[::1]:port" (port 0 picks one). kInvalidArgument: the
/// message has the text and what was expected, and names no flag.
Result<Address> ParseAddress(std::string_view text);
/// Writes it as ParseAddress reads it; gRPC clients in any language accept the same form.
std::string FormatAddress(const Address& address);

}  // namespace baton::sidecar
