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

/// Whether a router connects to `address`: it is host:port (IsPeerEndpoint), or `allowed` is
/// kUnixSocketsToo and it is unix:/path. False for an empty address.
bool IsUsable(std::string_view address, LeaderAddresses allowed);

/// Returns the gRPC target for an address. REQUIRES: IsUsable; not checked.
std::string TargetOf(std::string_view address);

}  // namespace baton::routing
