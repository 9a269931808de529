#include "http/peer.h"

namespace baton::http {
namespace {

namespace ip = boost::asio::ip;

/// A socket for both versions shows IPv4 addresses within IPv6's.
ip::address Unmapped(const ip::address& peer) {
  if (!peer.is_v6() || !peer.to_v6().is_v4_mapped()) return peer;
  return ip::make_address_v4(ip::v4_mapped, peer.to_v6());
}

}  // namespace

std::optional<ip::address> CountedPeer(const ip::address& peer, const Caller& caller) {
  const ip::address address = Unmapped(peer);
  const bool by_browser = !caller.fetch_site.empty() || !caller.origin.empty();
  if (address.is_loopback() && !by_browser) return std::nullopt;
  return address;
}

}  // namespace baton::http
