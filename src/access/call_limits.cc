#include "access/call_limits.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include <fmt/format.h>

namespace baton::access {
namespace {

// To look at all callers takes a while, so it is not done for each call.
constexpr std::chrono::seconds kForgetEvery{1};
constexpr std::size_t kLongestKey = 256;  // bytes of a certificate's name

}  // namespace

CallLimits::Limit CallLimits::LimitOf(Kind kind) {
  using namespace std::chrono_literals;
  switch (kind) {
    // As many as there may be watchers (RoutingOptions): all Routers of a network whose callers
    // come from one address may open their streams again at once.
    case Kind::kRoutes: return {.burst = 10'000, .every = 1ms};
    // A page asks once a second, and so does `batonctl top`; Prometheus twice in 15 s.
    case Kind::kRead: return {.burst = 500, .every = 20ms};
    // An examination logs in at each server of etcd, and has it commit thrice.
    case Kind::kDiagnose: return {.burst = 3, .every = 10s};
    // With a key of RSA-4096 a hundred cost half of a second of the one thread for sockets.
    case Kind::kHandshake: return {.burst = 200, .every = 10ms};
  }
  return {.burst = 0, .every = 1s};
}

bool CallLimits::Take(const std::string& caller, Kind kind, TimePoint now) {
  const Limit limit = LimitOf(kind);
  TimePoint& full_at = BucketsOf(caller, now)[static_cast<std::size_t>(kind)];
  const TimePoint after = std::max(full_at, now) + limit.every;
  if (after - now > limit.burst * limit.every) return false;
  full_at = after;
  return true;
}

CallLimits::Buckets& CallLimits::BucketsOf(const std::string& caller, TimePoint now) {
  if (const auto known = callers_.find(caller); known != callers_.end()) return known->second;
  if (callers_.size() >= most_) Forget(now);
  return callers_.size() < most_ ? callers_[caller] : others_;
}

void CallLimits::Forget(TimePoint now) {
  if (now < forget_at_) return;
  forget_at_ = now + kForgetEvery;
  std::erase_if(callers_, [now](const auto& entry) {
    return std::ranges::all_of(entry.second, [now](TimePoint full_at) { return full_at <= now; });
  });
}

const char* ToString(CallLimits::Kind kind) {
  switch (kind) {
    case CallLimits::Kind::kRoutes: return "routes";
    case CallLimits::Kind::kRead: return "read";
    case CallLimits::Kind::kDiagnose: return "diagnose";
    case CallLimits::Kind::kHandshake: return "handshakes";
  }
  return "unknown";
}

std::string Words(CallLimits::Kind kind) {
  const auto limit = CallLimits::LimitOf(kind);
  if (kind == CallLimits::Kind::kDiagnose) {
    return fmt::format("at most one examination in {} s",
                       std::chrono::duration_cast<std::chrono::seconds>(limit.every).count());
  }
  return fmt::format("at most {} questions {}a second", std::chrono::seconds(1) / limit.every,
                     kind == CallLimits::Kind::kRoutes ? "for routes " : "");
}

std::string LimitedAs(const Caller& caller) {
  if (!caller.token.empty()) return "token " + caller.token;
  if (!caller.certificate.empty()) {
    const std::string& name = caller.certificate;
    if (name.size() <= kLongestKey) return "certificate " + name;
    // Two that share this share their limit.
    return fmt::format("certificate {} {}", name.substr(0, kLongestKey),
                       std::hash<std::string>{}(name));
  }
  if (caller.user) return fmt::format("uid {}", *caller.user);
  return IsLocalPeer(caller.peer) ? "this host" : NetworkOf(caller.peer);
}

}  // namespace baton::access
