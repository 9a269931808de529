// Requests that a browser makes for a page of somebody else.
//
// A browser that a stranger's page misuses reaches addresses that the stranger does not: loopback,
// or a trusted network. If the stranger's own name leads to our address (DNS rebinding), the page
// may even read the answers. Such a request names the stranger's host. Other pages can't read
// anything, but can hold feeds, polls and connections; browsers say so in Sec-Fetch-Site, or in
// Origin.
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

/// The fields of a request's head that say for whom it is. Empty: absent.
struct Caller {
  std::size_t hosts = 0;  ///< how many Host fields there are
  std::string host = {};
  std::string origin = {};
  std::string fetch_site = {};
  std::string fetch_mode = {};
  std::string fetch_dest = {};
};

/// The refusal of a request for somebody else's page; unset for others. `names`: the host names of
/// this server, besides localhost; "*": every name. IP addresses are always this server's: a page
/// can't be at one that leads here, unless we served it. Probes are answered whatever name they
/// use, and so are requests without any Host.
std::optional<Response> RefuseForeign(const Caller& caller, std::string_view target,
                                      const std::vector<std::string>& names);

}  // namespace baton::http
