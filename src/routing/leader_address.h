// Which addresses of leaders a router connects to.
//
// The addresses come from servers and etcd, so a router can't trust them. gRPC would take some of
// them for a resolver ("xds:///...") or for a socket of this host ("unix:...").
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace baton::routing {

enum class LeaderAddresses : std::uint8_t { kHostsAndPorts, kUnixSocketsToo };

/// Whether a router connects to `address`. It must be host:port (IsPeerEndpoint); with
/// kUnixSocketsToo, unix:/path is allowed as well.
bool IsUsable(std::string_view address, LeaderAddresses allowed);

/// Returns the gRPC target for an address. REQUIRES: IsUsable; not checked.
std::string TargetOf(std::string_view address);

}  // namespace baton::routing
