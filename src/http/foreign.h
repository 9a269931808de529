// Refuses requests that a browser makes for a page of another site.
//
// A browser reaches addresses that the other site does not: loopback, or a trusted network. There
// are two attacks. If the site's own name leads to our address (DNS rebinding), the page may read
// our answers; but the request names the site's host in Host. Any other page can't read our
// answers, but can occupy feeds, polls and connections; browsers mark such requests by
// Sec-Fetch-Site or Origin.
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/response.h"

namespace baton::http {

/// The fields of a request's head that show which page makes it. Empty: absent.
struct Caller {
  std::size_t hosts = 0;  ///< the number of Host fields
  std::string host = {};
  std::string origin = {};
  std::string fetch_site = {};
  std::string fetch_mode = {};
  std::string fetch_dest = {};
};

/// The refusal of a request for somebody else's page; unset for others. `names`: the host names of
/// this server, besides localhost; "*": every name. IP addresses are always this server's: a page
/// can't be at one that leads here, unless we served it. But 0.0.0.0, [::] and IPv4 addresses in
/// the form of IPv6 are nobody's. Probes are answered whatever name they use, and so are requests
/// without any Host.
std::optional<Response> RefuseForeign(const Caller& caller, std::string_view target,
                                      const std::vector<std::string>& names);

}  // namespace baton::http
