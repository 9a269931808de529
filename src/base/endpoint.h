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

/// The most characters of a host, without brackets. It is the limit of DNS (RFC 1035).
inline constexpr std::size_t kLongestHost = 253;

/// Returns OK if `text` is host:port, or [host]:port for an IPv6 address. The port is 1 to 65535.
/// The host has 1 to kLongestHost ASCII letters, digits, '-', '.' or '_'; in brackets also ':' or
/// '%'. Does not check whether the host exists or is an address. Otherwise returns kInvalidArgument
/// with one line. The line has the beginning of the text, and says what to write instead. An
/// example in the line has the port `example_port`.
Status CheckEndpoint(std::string_view text, int example_port);

/// Whether `host` is a numeric loopback address, without brackets: 127.0.0.0/8 or ::1. False for
/// ::ffff:127.0.0.1 and for names, even localhost.
bool IsLoopbackHost(const std::string& host);

/// Returns localhost:port as 127.0.0.1:port, and other texts as they are. Use it to connect without
/// TLS. A resolver may also give ::1 for localhost, and any user of this host may listen at
/// [::1]:port. Other spellings, such as LOCALHOST:port, stay as they are.
std::string LocalhostAsAddress(std::string_view text);

/// Returns the host localhost as 127.0.0.1, and other hosts as they are. Use it to listen: then the
/// server is where LocalhostAsAddress sends its clients.
std::string HostToListenOn(std::string_view host);

/// Whether `host` is a wildcard address, without brackets: 0.0.0.0 or ::, in any form that the
/// system takes ("0", "0x0", "::ffff:0.0.0.0"). Ignores a zone ("::%eth0"). Other hosts can't
/// connect to a wildcard.
bool IsWildcardHost(std::string_view host);

/// Whether a peer may name `text` as an address to connect to. True if CheckEndpoint accepts
/// `text`, and gRPC would not take its host for the scheme of a resolver, as in "unix:80". False
/// for an empty text.
bool IsPeerEndpoint(std::string_view text);
/// Whether `text` begins with unix:/. Peers and gRPC write unix:/path for a socket of this host.
bool IsUnixAddress(std::string_view text);

/// Returns OK if a program may tell others that they reach it at `text`. This needs two things:
/// IsPeerEndpoint accepts `text`, and its host is no wildcard. Otherwise returns kInvalidArgument
/// with one line, as CheckEndpoint does.
Status CheckOwnEndpoint(std::string_view text, int example_port);
/// Like CheckOwnEndpoint, but also accepts unix:/path if IsAddressText (text_rules.h) accepts it.
Status CheckOwnAddress(std::string_view text, int example_port);

/// Returns `text` as a gRPC target: dns:///host:port. Without this prefix, gRPC would take a host
/// named "unix" for the scheme of a resolver. A "%", which begins the zone of an IPv6 address,
/// becomes "%25", because gRPC decodes targets. REQUIRES (not checked): CheckEndpoint or
/// IsPeerEndpoint accepts `text`.
std::string DnsTarget(std::string_view text);

}  // namespace baton
