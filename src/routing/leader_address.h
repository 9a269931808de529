// Decides to which addresses of leaders a router connects.
//
// The addresses come from servers and etcd, so a router can't trust them. gRPC takes some addresses
// for a resolver ("xds:///...") or a socket of this host ("unix:...").
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace baton::routing {

enum class LeaderAddresses : std::uint8_t { kHostsAndPorts, kUnixSocketsToo };

/// Whether a router connects to `address`. Two forms are usable: host:port (IsPeerEndpoint), and
/// with kUnixSocketsToo also unix:/path. False for an empty address, and for an address that
/// IsAddressText refuses.
bool IsUsable(std::string_view address, LeaderAddresses allowed);

/// Returns the gRPC target for an address. REQUIRES (not checked): IsUsable accepts the address.
std::string TargetOf(std::string_view address);

/// Where to connect for a gRPC target. `authority`: the name that the server must have, if this
/// differs from the target's; else empty.
struct NamedTarget {
  std::string target;
  std::string authority;
};
/// Returns the target as it is, but localhost:port as 127.0.0.1:port: see LocalhostAsAddress
/// (base/endpoint.h). The authority stays localhost:port, because certificates may have this name.
/// `target`: as TargetOf returns it, or an endpoint of RouterOptions.
NamedTarget NamedTargetOf(const std::string& target);

}  // namespace baton::routing
