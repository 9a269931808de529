// How many of the places that all clients of the server share may be held from one address.
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

/// The address for which a request's place counts. Unset: for none, because the request comes from
/// a program on this host, and any number of programs may share loopback's address. Requests of a
/// browser on this host count; Sec-Fetch-Site or Origin shows that it is a browser.
std::optional<boost::asio::ip::address> CountedPeer(const boost::asio::ip::address& peer,
                                                    const Caller& caller);

}  // namespace baton::http
