#include "http/peer.h"

#include <algorithm>

namespace baton::http {
namespace {

namespace ip = boost::asio::ip;

/// A socket for both versions shows IPv4 addresses within IPv6's.
ip::address Unmapped(const ip::address& peer) {
  if (!peer.is_v6() || !peer.to_v6().is_v4_mapped()) return peer;
  return ip::make_address_v4(ip::v4_mapped, peer.to_v6());
}

/// Without the half that a host chooses by itself.
ip::address NetworkOf(const ip::address& address) {
  if (address.is_v4()) return address;
  ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
  return ip::address_v6(bytes);
}

}  // namespace

std::optional<ip::address> CountedPeer(const ip::address& peer, const Caller& caller) {
  const ip::address address = Unmapped(peer);
  const bool by_browser = !caller.fetch_site.empty() || !caller.origin.empty();
  if (address.is_loopback() && !by_browser) return std::nullopt;
  return address.is_loopback() ? address : NetworkOf(address);
}

}  // namespace baton::http
