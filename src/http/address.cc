#include "http/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <boost/asio/ip/address.hpp>

#include "base/endpoint.h"

namespace baton::http {
namespace {

Error Malformed(std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          fmt::format(
              "\"{}\" is not an address; expected host:port, such as 127.0.0.1:7400 or [::1]:7400",
              text)};
}

bool HostCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '-' || c == '_' || c == ':' || c == '%';
}

// As the system takes it: "0" and "127.1" are addresses, too, and an IPv4 address may be mapped.
std::optional<boost::asio::ip::address> Numeric(const std::string& host) {
  using boost::asio::ip::make_address_v4;
  in_addr four{};
  if (inet_aton(host.c_str(), &four) != 0) return make_address_v4(ntohl(four.s_addr));
  boost::system::error_code error;
  const auto six = boost::asio::ip::make_address_v6(host, error);
  if (error) return std::nullopt;
  if (!six.is_v4_mapped()) return six;
  return make_address_v4(boost::asio::ip::v4_mapped, six);
}

}  // namespace

Result<Address> ParseAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Malformed(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool colons = host.find(':') != std::string_view::npos;
  const bool zone = host.find('%') != std::string_view::npos;  // of IPv6 alone
  if (host.empty() || host.size() > kLongestHost || colons != bracketed || (zone && !colons) ||
      !std::all_of(host.begin(), host.end(), HostCharacter)) {
    return Malformed(text);
  }
  Address address{std::string(host), 0};
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (failed != std::errc() || end != digits.data() + digits.size()) return Malformed(text);
  // "127.2" is written in full, because others compare it with addresses of connections.
  boost::system::error_code unusual;
  boost::asio::ip::make_address(address.host, unusual);
  if (const auto numeric = Numeric(address.host); unusual && numeric)
    address.host = numeric->to_string();
  return address;
}

std::string FormatAddress(const Address& address) {
  const bool brackets = address.host.find(':') != std::string::npos;
  return fmt::format("{}:{}", brackets ? "[" + address.host + "]" : address.host, address.port);
}

bool IsLoopback(const Address& address) {
  if (address.host == "localhost") return true;
  const auto numeric = Numeric(address.host);
  return numeric && numeric->is_loopback();
}

bool IsWildcard(const Address& address) { return IsWildcardHost(address.host); }

}  // namespace baton::http
