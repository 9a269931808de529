// Limits for one client address: how many event feeds and waiting polls it may hold at once.
//
// Pure functions; any thread.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <optional>

#include "http/foreign.h"

namespace baton::http {

/// The limits of one address; kMaxFeeds and kMaxPolls (server.h) are those of all clients. A
/// request above one of these gets 503. A browser opens at most six connections to one name.
inline constexpr std::size_t kMaxFeedsOfPeer = 8;
inline constexpr std::size_t kMaxPollsOfPeer = 32;

/// Returns the address for which a request counts. An IPv6 address counts as its network (64 bits,
/// the rest is 0), because one host may have all addresses of its network. But ::ffff:10.0.0.5
/// counts as 10.0.0.5, and ::1 as itself. Returns nullopt for a program that connects by loopback:
/// it has no limit here, because all such programs share that address. A browser that connects by
/// loopback does have these limits; Sec-Fetch-Site or Origin shows that a client is a browser.
std::optional<boost::asio::ip::address> CountedPeer(const boost::asio::ip::address& peer,
                                                    const Caller& caller);

}  // namespace baton::http
