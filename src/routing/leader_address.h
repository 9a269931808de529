// Which addresses of leaders a router connects to.
//
// The addresses come from servers and etcd, so a router can't trust them. To gRPC, some addresses
// mean a resolver ("xds:///...") or a socket of this host ("unix:...").
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace baton::routing {

enum class LeaderAddresses : std::uint8_t { kHostsAndPorts, kUnixSocketsToo };

/// Whether a router connects to `address`. True if it is host:port (IsPeerEndpoint), or if it is
/// unix:/path and `allowed` is kUnixSocketsToo. False for an empty address, and for one that
/// IsAddressText refuses.
bool IsUsable(std::string_view address, LeaderAddresses allowed);

/// Returns the gRPC target for an address. REQUIRES: IsUsable accepts the address; not checked.
std::string TargetOf(std::string_view address);

}  // namespace baton::routing
