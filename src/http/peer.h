// Limits for one client address: how many event feeds and waiting polls it may hold at once.
//
// Pure functions; any thread.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <optional>

#include "http/foreign.h"

namespace baton::http {

/// All clients of the server share its own limits. The server answers 503 to a request above one of
/// these. A browser opens at most six connections to one name.
inline constexpr std::size_t kMaxFeedsOfPeer = 8;
inline constexpr std::size_t kMaxPollsOfPeer = 32;

/// Returns the address whose limits a request uses. Returns nullopt for a program on this host: all
/// such programs have loopback's address, so a limit for that address would be wrong. The limits
/// hold for a browser on this host; Sec-Fetch-Site or Origin shows that it is a browser.
std::optional<boost::asio::ip::address> CountedPeer(const boost::asio::ip::address& peer,
                                                    const Caller& caller);

}  // namespace baton::http
