// CallLimits: how often a caller may call a node. CallLimits does not know roles. Access (access.h)
// uses it for the calls of callers without kOperate, and for the TLS handshakes of all callers.
//
// Each caller has a token bucket for each kind of call (see Limit). Callers with the same LimitedAs
// count as one. At most kMaxLimitedCallers callers are remembered. While all of these places are
// taken, all further callers share one set of buckets.
//
// Pure: `now` is an argument, and must not go back. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "access/callers.h"
#include "base/clock.h"

namespace baton::access {

/// The most callers that are remembered. If there is no room for a new caller, CallLimits forgets
/// the callers whose buckets are all full. It does this at most once a second. A bucket is full
/// again at most half a minute after the caller's last call.
inline constexpr std::size_t kMaxLimitedCallers = 4096;

class CallLimits {
 public:
  enum class Kind : std::uint8_t {
    /// Streams of routes, polls and lookups: 10,000 in a burst, then 1,000 a second.
    kRoutes,
    kRead,      ///< all other calls that only read: 500 in a burst, then 50 a second
    kDiagnose,  ///< examinations (batonctl doctor), which ask etcd: 3 in a burst, then 1 in 10 s
    /// TLS handshakes of the HTTP server: 200 in a burst, then 100 a second. This limit holds for
    /// all roles (Access::TakeHandshake).
    kHandshake,
  };
  struct Limit {
    std::uint32_t burst;  ///< the most calls in a burst: the size of the bucket
    Duration every;       ///< the bucket gains one call in this time
  };
  static Limit LimitOf(Kind kind);

  explicit CallLimits(std::size_t most_callers = kMaxLimitedCallers) : most_(most_callers) {}

  /// Whether this caller may call now. True: the call is counted. False: the refused call is not
  /// counted, so it does not delay later calls. `caller`: the result of LimitedAs.
  bool Take(const std::string& caller, Kind kind, TimePoint now);
  /// How many callers are remembered.
  std::size_t size() const { return callers_.size(); }

 private:
  /// For each kind, when the bucket will be full again. A time in the past: the bucket is full.
  using Buckets = std::array<TimePoint, 4>;

  Buckets& BucketsOf(const std::string& caller, TimePoint now);
  /// Forgets the callers whose buckets are all full.
  void Forget(TimePoint now);

  const std::size_t most_;
  std::unordered_map<std::string, Buckets> callers_;  // at most most_
  Buckets others_{};                                  // shared by all further callers
  TimePoint forget_at_{};                             // Forget does nothing before this time
};

inline constexpr std::array kCallKinds = {CallLimits::Kind::kRoutes, CallLimits::Kind::kRead,
                                          CallLimits::Kind::kDiagnose,
                                          CallLimits::Kind::kHandshake};
/// "routes", "read", "diagnose" or "handshakes".
const char* ToString(CallLimits::Kind kind);
/// Returns the limit in words: "at most 50 questions a second". REQUIRES (not checked): `kind` is
/// not kHandshake.
std::string Words(CallLimits::Kind kind);

/// Returns the name under which a caller's calls are counted. It is made from the first of these
/// that is known: the caller's valid token, its valid certificate, its user, its host. If only the
/// host is known, all callers on this host share one name, and so do all IPv6 hosts of one network
/// (64 bits).
std::string LimitedAs(const Caller& caller);

}  // namespace baton::access
