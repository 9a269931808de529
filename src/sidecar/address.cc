#include "sidecar/address.h"

#include <charconv>

#include <fmt/format.h>

#include "base/endpoint.h"
#include "base/unix_socket.h"

namespace baton::sidecar {
namespace {

constexpr std::string_view kUnix = "unix:";

Error Off(std::string_view text, const std::string& why) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("\"{}\" {}", text, why)};
}

Result<Address> ParsePath(std::string_view text) {
  std::string path(text.substr(kUnix.size()));
  if (path.starts_with("//")) path.erase(0, 2);     // gRPC allows it
  while (path.starts_with("//")) path.erase(0, 1);  // else FormatAddress would write a shorter form
  if (!path.starts_with('/')) return Off(text, "has no absolute path; expected unix:/path");
  if (path.size() > kLongestSocketPath) {
    return Off(text, fmt::format("has a path of {} bytes; a unix socket's has at most {}",
                                 path.size(), kLongestSocketPath));
  }
  return Address{.path = std::move(path), .host = {}, .port = 0};
}

}  // namespace

Result<Address> ParseAddress(std::string_view text) {
  if (text.starts_with(kUnix)) return ParsePath(text);
  const char* const expected = "is not a local address; expected unix:/path or 127.0.0.1:port";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Off(text, expected);
  std::string host(text.substr(0, colon));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if ((host.find(':') != std::string::npos) != bracketed) return Off(text, expected);
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data() + colon + 1, end, port);
  if (failed != std::errc() || stop != end) return Off(text, expected);
  if (!IsLoopbackHost(host)) {
    return Off(text,
               "can be reached from other hosts, or is not numeric; the sidecar serves this "
               "host only: give unix:/path or 127.0.0.1:port");
  }
  return Address{.path = {}, .host = std::move(host), .port = port};
}

std::string FormatAddress(const Address& address) {
  if (!address.path.empty()) return std::string(kUnix) + address.path;
  const bool six = address.host.find(':') != std::string::npos;
  return fmt::format("{}:{}", six ? "[" + address.host + "]" : address.host, address.port);
}

}  // namespace baton::sidecar
