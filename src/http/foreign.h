// Refuses requests that a browser makes for a page of another site.
//
// A browser can reach addresses that the other site can't reach itself: loopback, or a trusted
// network. The site's page can attack in two ways:
//  - The site's own name leads to our address (DNS rebinding), so the page may read our answers.
//    The request names the site's host in Host.
//  - The page uses our address or name. It can't read our answers, but it can occupy feeds, polls
//    and connections. Browsers mark such requests by Sec-Fetch-Site or Origin.
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

/// The fields of a request's head that show which page makes the request. Empty: absent.
struct Caller {
  std::size_t hosts = 0;  ///< the number of Host fields
  std::string host = {};
  std::string origin = {};
  std::string fetch_site = {};
  std::string fetch_mode = {};
  std::string fetch_dest = {};
};

/// Returns the refusal of a request; nullopt: answer the request. The refusals:
///  - 400: the request has more than one Host.
///  - 403: a page of another origin makes the request, or the browser hides the page's origin
///    ("null"). Two kinds of requests never get 403: links that a person follows, and requests with
///    neither Sec-Fetch-Site nor Origin.
///  - 421: Host is not an IP address, not localhost and not in `names`. 0.0.0.0, [::], and IPv4
///    addresses written as IPv6 get 421, too. Requests without Host and probes (/livez, /readyz,
///    /shards/{s}/leader) never get 421.
/// `names`: the server's host names. ".example.org" stands for all names that end with it, but not
/// for example.org. "*" stands for all names. The case, the port and a final dot of Host don't
/// count.
std::optional<Response> RefuseForeign(const Caller& caller, std::string_view target,
                                      const std::vector<std::string>& names);

}  // namespace baton::http
