// Addresses to listen on: host:port, or [::1]:port. base/endpoint.h has addresses to connect to.
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
/// replaced by its full form (127.1 by 127.0.0.1). kInvalidArgument: the text has another form, or
/// the host has more than kLongestHost characters. The message has the text and the expected form,
/// and names no flag.
Result<Address> ParseAddress(std::string_view text);

/// Writes host:port, with brackets around an IPv6 host.
std::string FormatAddress(const Address& address);

/// Whether only this host can reach the address. True if the host is "localhost" or a loopback
/// address, in any form that the system takes ("127.1", "::ffff:127.0.0.1"). False for all other
/// names, because it resolves none.
bool IsLoopback(const Address& address);

/// Whether the host is 0.0.0.0 or ::, in any form that the system takes ("0", "0x0"). Other hosts
/// can't connect to these.
bool IsWildcard(const Address& address);

}  // namespace baton::http
