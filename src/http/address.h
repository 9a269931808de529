// HTTP addresses: host:port, or [::1]:port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::http {

struct Address {
  std::string host;  ///< a name or numeric address, without brackets; never empty
  std::uint16_t port = 0;
};

/// Reads an address. kInvalidArgument: the text is not host:port. The message has the text and the
/// expected form, and names no flag.
Result<Address> ParseAddress(std::string_view text);

/// Writes host:port, with brackets around an IPv6 host.
std::string FormatAddress(const Address& address);

/// Whether only this host reaches it: localhost, or a numeric loopback address.
bool IsLoopback(const Address& address);

/// Whether it is 0.0.0.0 or ::, which other hosts can't connect to.
bool IsWildcard(const Address& address);

}  // namespace baton::http
