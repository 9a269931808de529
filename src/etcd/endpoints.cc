#include "etcd/endpoints.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/check.h"

namespace baton::etcd {
namespace {

constexpr std::string_view kPlainScheme = "http://";
constexpr std::string_view kTlsScheme = "https://";

Error Bad(std::string_view entry, const std::string& why) {
  return Error{ErrorCode::kInvalidArgument, "etcd endpoint '" + std::string(entry) + "': " + why};
}

bool IsPort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

bool IsHost(std::string_view host) {
  if (host.empty()) return false;
  const bool bracketed = host.front() == '[' && host.back() == ']' && host.size() > 2;
  const std::string_view letters = bracketed ? host.substr(1, host.size() - 2) : host;
  return std::all_of(letters.begin(), letters.end(), [bracketed](char c) {
    const bool name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '.' || c == '_';
    return name || (bracketed && (c == ':' || c == '%'));
  });
}

Result<Endpoint> ParseEndpoint(std::string_view entry, Security by_default) {
  Endpoint endpoint{.address = "", .security = by_default};
  std::string_view rest = entry;
  if (rest.starts_with(kPlainScheme)) {
    if (by_default == Security::kTls) {
      return Bad(entry, "is plain http, but TLS certificates are given: use https://");
    }
    rest.remove_prefix(kPlainScheme.size());
  } else if (rest.starts_with(kTlsScheme)) {
    endpoint.security = Security::kTls;
    rest.remove_prefix(kTlsScheme.size());
  } else if (rest.find("://") != std::string_view::npos) {
    return Bad(entry, "unknown scheme: expected host:port, http:// or https://");
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || !IsPort(rest.substr(colon + 1))) {
    return Bad(entry, "expected host:port with a port from 1 to 65535, such as 127.0.0.1:2379");
  }
  if (!IsHost(rest.substr(0, colon))) {
    return Bad(entry, "not a host name or address (IPv6 in brackets, such as [::1]:2379)");
  }
  endpoint.address = std::string(rest);
  return endpoint;
}

}  // namespace

Result<std::vector<Endpoint>> ParseEndpoints(const std::vector<std::string>& entries,
                                             Security by_default) {
  if (entries.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no etcd endpoint: give at least one host:port"};
  }
  if (entries.size() > kMaxEndpoints) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(entries.size()) +
                                                  " etcd endpoints: at most " +
                                                  std::to_string(kMaxEndpoints) + " are supported"};
  }
  std::vector<Endpoint> endpoints;
  for (const std::string& entry : entries) {
    auto endpoint = ParseEndpoint(entry, by_default);
    if (!endpoint) return endpoint.error();
    const bool twice = std::any_of(endpoints.begin(), endpoints.end(), [&](const Endpoint& other) {
      return other.address == endpoint.value().address;
    });
    if (twice) return Bad(entry, "listed twice");
    endpoints.push_back(std::move(endpoint).value());
  }
  return endpoints;
}

EndpointBook::EndpointBook(std::size_t count, std::size_t first)
    : endpoints_(count), current_(first) {
  BATON_CHECK(first < count);
}

int EndpointBook::Rank(std::size_t endpoint, TimePoint now) const {
  const State& state = endpoints_[endpoint];
  if (state.quarantined) return 2;
  return now < state.unavailable_until ? 1 : 0;
}

std::optional<std::size_t> EndpointBook::NextAfter(const std::vector<bool>& tried,
                                                   TimePoint now) const {
  std::optional<std::size_t> best;
  for (std::size_t step = 0; step < size(); ++step) {
    const std::size_t candidate = (current_ + step) % size();
    if (tried[candidate]) continue;
    if (!best || Rank(candidate, now) < Rank(*best, now)) best = candidate;
  }
  return best;
}

std::size_t EndpointBook::Current(TimePoint now) {
  current_ = *NextAfter(std::vector<bool>(size(), false), now);
  return current_;
}

void EndpointBook::MoveOnFrom(std::size_t endpoint, TimePoint now) {
  if (endpoint != current_ || size() == 1) return;
  current_ = (current_ + 1) % size();
  Current(now);
}

void EndpointBook::Answered(std::size_t endpoint, TimePoint now) {
  endpoints_[endpoint] = State{.answered = now};
}

void EndpointBook::Unavailable(std::size_t endpoint, TimePoint now) {
  endpoints_[endpoint].unavailable_until = now + kUnavailableFor;
  MoveOnFrom(endpoint, now);
}

void EndpointBook::Missed(std::size_t endpoint, TimePoint sent, TimePoint now) {
  State& state = endpoints_[endpoint];
  if (state.answered > sent) return;
  if (++state.misses < kMissesToQuarantine) return;
  if (!state.quarantined) state.next_probe = now;
  state.quarantined = true;
  MoveOnFrom(endpoint, now);
}

std::optional<std::size_t> EndpointBook::TakeProbe(TimePoint now) {
  for (std::size_t i = 0; i < size(); ++i) {
    State& state = endpoints_[i];
    if (!state.quarantined || state.probing || now < state.next_probe) continue;
    state.probing = true;
    return i;
  }
  return std::nullopt;
}

void EndpointBook::ProbeFailed(std::size_t endpoint, TimePoint now) {
  endpoints_[endpoint].probing = false;
  endpoints_[endpoint].next_probe = now + kProbeInterval;
}

}  // namespace baton::etcd
