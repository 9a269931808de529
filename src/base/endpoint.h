// Endpoints of servers as people give them: host:port, [::1]:port.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "baton/result.h"

namespace baton {

// Default ports, for examples in messages.
constexpr int kEtcdPort = 2379;
constexpr int kNodePort = 7400;

/// The most characters of a host. RFC 1035 allows 255 octets in DNS messages; as text these are at
/// most 253 characters.
inline constexpr std::size_t kLongestHost = 253;

/// Returns OK if `text` is host:port with a port from 1 to 65535, and with brackets around an IPv6
/// host. Only the characters count: whether the host exists, or is an address, is not checked.
/// Otherwise kInvalidArgument, with one line that has the text and says what to write. The examples
/// in this line have the port `example_port`.
Status CheckEndpoint(std::string_view text, int example_port);

/// Whether `host` is a numeric loopback address: 127.0.0.0/8 or ::1, without brackets. False for
/// names, also for localhost.
bool IsLoopbackHost(const std::string& host);

/// Whether `host` is 0.0.0.0 or ::, without brackets, in any form that the system takes ("0",
/// "0x0", "::ffff:0.0.0.0"). Other hosts can't connect to these.
bool IsWildcardHost(std::string_view host);

/// Whether a peer may name `text` as an address to connect to: it is host:port as above, and gRPC
/// would not take the host for the scheme of a resolver. (It would do so with "unix:80".)
/// False for an empty text.
bool IsPeerEndpoint(std::string_view text);
/// Whether `text` is unix:/path, the form that peers and gRPC have for a socket of this host.
bool IsUnixAddress(std::string_view text);

/// Returns OK if a program may tell others that they reach it at `text`: IsPeerEndpoint accepts it,
/// and its host is no wildcard. Otherwise kInvalidArgument, as of CheckEndpoint.
Status CheckOwnEndpoint(std::string_view text, int example_port);
/// Like CheckOwnEndpoint, but allows unix:/path, too. IsAddressText accepts what both allow.
Status CheckOwnAddress(std::string_view text, int example_port);

/// Returns `text` as a gRPC target (dns:///host:port). Without this prefix gRPC would take a host
/// named "unix" for the scheme of a resolver. The "%" before the zone of an IPv6 address is
/// escaped, as gRPC decodes targets. REQUIRES: CheckEndpoint or IsPeerEndpoint accepts it; not
/// checked.
std::string DnsTarget(std::string_view text);

}  // namespace baton
