// What one peer address may hold of the places that all clients of the server share.
//
// Pure functions; any thread.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <optional>

#include "http/foreign.h"

namespace baton::http {

/// The share of one address; 503 above it. A browser has at most six connections to one name.
inline constexpr std::size_t kMaxFeedsOfPeer = 8;
inline constexpr std::size_t kMaxPollsOfPeer = 32;

/// The address for which a request's place counts. Unset: for none, because a program on this host
/// asks: any number of them may share loopback's address. A page in a browser of this host counts;
/// browsers give themselves away by Sec-Fetch-Site, or by Origin.
std::optional<boost::asio::ip::address> CountedPeer(const boost::asio::ip::address& peer,
                                                    const Caller& caller);

}  // namespace baton::http
