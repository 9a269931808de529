// Addresses as people write them: host:port, [::1]:port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton::http {

struct Address {
  std::string host;  ///< name or numeric address, without brackets; never empty
  std::uint16_t port = 0;
};

/// kInvalidArgument: not host:port; the message has the text and the expected form, without naming
/// a flag.
Result<Address> ParseAddress(std::string_view text);

/// host:port, with brackets around an IPv6 host.
std::string FormatAddress(const Address& address);

/// 0.0.0.0 or ::, which others can't connect to.
bool IsWildcard(const Address& address);

}  // namespace baton::http
