// Which addresses of leaders a router connects to.
//
// Servers and etcd name them, so they are another's text. gRPC would take some of them for a
// resolver of its own ("xds:///...") or for a socket of this host ("unix:...").
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace baton::routing {

enum class LeaderAddresses : std::uint8_t { kHostsAndPorts, kUnixSocketsToo };

/// Whether a router connects to `address`: host:port; if `allowed`, also unix:/path.
bool IsUsable(std::string_view address, LeaderAddresses allowed);

/// The target of gRPC for an address that IsUsable.
std::string TargetOf(std::string_view address);

}  // namespace baton::routing
