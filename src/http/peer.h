// Limits for one client address: how many feeds of events and polls of routes it may hold at once.
//
// Pure functions; any thread.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <optional>

#include "http/foreign.h"

namespace baton::http {

/// The limits of one address. They are enough for one browser, which opens at most six connections
/// to one name. kMaxFeeds and kMaxPolls (server.h) are the limits of all clients together. A
/// request above any of these four limits gets 503.
inline constexpr std::size_t kMaxFeedsOfPeer = 8;
inline constexpr std::size_t kMaxPollsOfPeer = 32;

/// Returns the address to which a request counts. An IPv6 address counts as its network (64 bits,
/// the rest is 0), because one host may have all addresses of its network. But ::ffff:10.0.0.5
/// counts as 10.0.0.5, and ::1 as itself. nullopt: a program on this host makes the request by
/// loopback. These requests have no limit here, because all such programs share one address. A
/// browser's request by loopback counts; it has Sec-Fetch-Site or Origin.
std::optional<boost::asio::ip::address> CountedPeer(const boost::asio::ip::address& peer,
                                                    const Caller& caller);

}  // namespace baton::http
