#include "http/foreign.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

namespace baton::http {
namespace {

bool SameText(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  });
}

/// The host of host, host:port or [v6]:port, without brackets and without the root's dot.
std::string HostOf(std::string_view authority) {
  if (authority.starts_with('[')) {
    return std::string(authority.substr(1, authority.find(']') - 1));
  }
  std::string_view host = authority.substr(0, authority.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return std::string(host);
}

/// No server has the addresses that mean "any", and an IPv4 address has a form of its own. To all
/// of these a page can be sent that its browser does not take for one of loopback.
bool IsAddress(const std::string& host) {
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return four.s_addr != htonl(INADDR_ANY);
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&six) &&
         !IN6_IS_ADDR_V4MAPPED(&six) && !IN6_IS_ADDR_V4COMPAT(&six);
}

/// A name that begins with a dot stands for all names that end with it.
bool Matches(const std::string& host, const std::string& name) {
  if (name == "*") return true;
  if (!name.starts_with('.')) return SameText(name, host);
  return host.size() > name.size() && SameText(host.substr(host.size() - name.size()), name);
}

bool IsOurs(const std::string& host, const std::vector<std::string>& names) {
  if (SameText(host, "localhost") || IsAddress(host)) return true;
  return std::any_of(names.begin(), names.end(),
                     [&host](const std::string& name) { return Matches(host, name); });
}

/// They tell nearly nothing, and load balancers ask them by any name.
bool IsProbe(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  return path == "/livez" || path == "/readyz" ||
         (path.starts_with("/shards/") && path.ends_with("/leader"));
}

bool IsCrossSite(const Caller& caller) {
  if (!caller.fetch_site.empty()) {
    if (caller.fetch_site == "same-origin" || caller.fetch_site == "none") return false;
    // A link that somebody follows.
    return caller.fetch_mode != "navigate" || caller.fetch_dest != "document";
  }
  if (caller.origin.empty()) return false;
  const std::size_t scheme = caller.origin.find("://");
  return scheme == std::string::npos || !SameText(caller.origin.substr(scheme + 3), caller.host);
}

}  // namespace

std::optional<Response> RefuseForeign(const Caller& caller, std::string_view target,
                                      const std::vector<std::string>& names) {
  if (caller.hosts > 1) return ErrorResponse(400, target, "the request names more than one Host");
  if (IsCrossSite(caller)) {
    return ErrorResponse(403, target, "a page of another origin may not ask this server");
  }
  if (caller.hosts == 0 || IsProbe(target) || IsOurs(HostOf(caller.host), names)) {
    return std::nullopt;
  }
  return ErrorResponse(421, target,
                       "this server does not know the name in Host; use its address, or name it "
                       "in --http-hosts");
}

}  // namespace baton::http
