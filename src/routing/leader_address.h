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

}  // namespace baton::routing
