#include "base/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/escape.h"
#include "base/text_rules.h"

namespace baton {
namespace {

constexpr std::size_t kLongestShown = 300;  // of a text that is not an endpoint

bool IsPort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

bool IsHost(std::string_view host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  return !host.empty() && host.size() <= kLongestHost &&
         std::all_of(host.begin(), host.end(), [bracketed](char c) {
           const bool name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
           return name || (bracketed && (c == ':' || c == '%'));
         });
}

bool IsHostAndPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string_view::npos && IsHost(text.substr(0, colon)) &&
         IsPort(text.substr(colon + 1));
}

std::string Advice(std::string_view text, int example_port) {
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    return "write host:port, without " + OneLine(text.substr(0, scheme + 3), kLongestShown);
  }
  const std::string port = std::to_string(example_port);
  return "write host:port, such as 10.0.0.7:" + port + " or [::1]:" + port;
}

}  // namespace

Status CheckEndpoint(std::string_view text, int example_port) {
  if (IsHostAndPort(text)) return Ok();
  return Error{
      ErrorCode::kInvalidArgument,
      "\"" + OneLine(text, kLongestShown) + "\" is not an endpoint; " + Advice(text, example_port)};
}

bool IsLoopbackHost(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

std::string LocalhostAsAddress(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::string(text);
  return HostToListenOn(text.substr(0, colon)) + std::string(text.substr(colon));
}

std::string HostToListenOn(std::string_view host) {
  return std::string(host == "localhost" ? "127.0.0.1" : host);
}

bool IsWildcardHost(std::string_view host) {
  const std::string text(host.substr(0, host.find('%')));
  in_addr four{};
  if (inet_aton(text.c_str(), &four) != 0) return four.s_addr == INADDR_ANY;
  in6_addr six{};
  if (inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&six) != 0 && six.s6_addr32[3] == INADDR_ANY;
  return mapped || IN6_IS_ADDR_UNSPECIFIED(&six) != 0;
}

bool IsPeerEndpoint(std::string_view text) {
  constexpr std::string_view kSchemes[] = {
      "dns",   "ipv4", "ipv6",   "unix",       "unix-abstract",
      "vsock", "xds",  "binder", "google-c2p", "google-c2p-experimental"};
  return IsHostAndPort(text) && std::find(std::begin(kSchemes), std::end(kSchemes),
                                          text.substr(0, text.rfind(':'))) == std::end(kSchemes);
}

bool IsUnixAddress(std::string_view text) { return text.starts_with("unix:/"); }

Status CheckOwnEndpoint(std::string_view text, int example_port) {
  if (const Status form = CheckEndpoint(text, example_port); !form.ok()) return form;
  std::string_view host = text.substr(0, text.rfind(':'));
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  const char* const why = IsWildcardHost(host)    ? "is a wildcard, which others can't connect to"
                          : !IsPeerEndpoint(text) ? "has a host that gRPC takes for a resolver"
                                                  : nullptr;
  if (why == nullptr) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               "\"" + OneLine(text, kLongestShown) + "\" " + why +
                   "; write the name or IP address at which others reach this host"};
}

Status CheckOwnAddress(std::string_view text, int example_port) {
  if (!IsUnixAddress(text)) return CheckOwnEndpoint(text, example_port);
  if (IsAddressText(text)) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               "\"" + OneLine(text, kLongestShown) + "\" is not an address; write at most " +
                   std::to_string(kLongestAddress) + " visible ASCII characters"};
}

std::string DnsTarget(std::string_view text) {
  std::string target = "dns:///";
  for (const char c : text) target += c == '%' ? "%25" : std::string(1, c);
  return target;
}

}  // namespace baton
