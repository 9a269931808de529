// Addresses to listen on, as host:port or [::1]:port. For addresses to connect to, see
// base/endpoint.h.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::http {

struct Address {
  std::string host;  ///< without brackets; only its characters are checked; never empty
  std::uint16_t port = 0;
};

/// Reads an address. The port is from 0 to 65535. An IPv6 host needs brackets. A short IPv4 host is
/// replaced by its full form, for example 127.1 by 127.0.0.1. kInvalidArgument: the text has
/// another form, or the host has more than kLongestHost characters. The message has the text and
/// the expected form.
Result<Address> ParseAddress(std::string_view text);

/// Returns host:port, with brackets around an IPv6 host.
std::string FormatAddress(const Address& address);

/// Whether only this host can reach the address: the host is "localhost" or a loopback address. Any
/// form of the address counts, also "127.1" and "::ffff:127.0.0.1". False for other names:
/// IsLoopback does not resolve names.
bool IsLoopback(const Address& address);

/// Whether the host is 0.0.0.0 or ::, to which other hosts can't connect. Any form of the address
/// counts, also "0" and "0x0".
bool IsWildcard(const Address& address);

}  // namespace baton::http
