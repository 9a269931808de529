#include "etcd/grpc/endpoints.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/endpoint.h"
#include "base/limits.h"

namespace baton::etcd {

Result<std::vector<Endpoint>> ParseEndpoints(const std::vector<std::string>& entries,
                                             Security security) {
  if (entries.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no etcd endpoint: give at least one host:port"};
  }
  if (entries.size() > kMaxEndpoints) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{} etcd endpoints: at most {} are supported", entries.size(), kMaxEndpoints)};
  }
  std::vector<Endpoint> endpoints;
  for (const std::string& entry : entries) {
    if (Status checked = CheckEndpoint(entry, kEtcdPort); !checked) {
      const bool tls = entry.starts_with("https://");
      return Error{ErrorCode::kInvalidArgument,
                   "etcd endpoint " + checked.error().message +
                       (tls ? " (TLS: set ca_pem or a certificate)" : "")};
    }
    const bool twice = std::any_of(endpoints.begin(), endpoints.end(),
                                   [&](const Endpoint& other) { return other.address == entry; });
    if (twice) {
      return Error{ErrorCode::kInvalidArgument, "etcd endpoint \"" + entry + "\" is listed twice"};
    }
    endpoints.push_back({entry, security});
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
