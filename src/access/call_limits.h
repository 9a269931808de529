// CallLimits: how often one caller may ask a node, if it can't make changes.
//
// Each caller has a token bucket for each kind of call (see Limit). LimitedAs says who counts as
// one caller. A limited number of callers is remembered. If the buckets of all of them are still
// refilling, new callers share one set of buckets.
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

/// How many callers are remembered. A caller may be forgotten in favour of a new one once its
/// buckets are full again, which is at the latest half a minute after its last call.
inline constexpr std::size_t kMaxLimitedCallers = 4096;

class CallLimits {
 public:
  enum class Kind : std::uint8_t {
    kRoutes,    ///< who leads: streams of routes, lookups
    kRead,      ///< everything else that is read
    kDiagnose,  ///< an examination, which asks etcd
  };
  struct Limit {
    std::uint32_t burst;  ///< the most calls at once: the size of the bucket
    Duration every;       ///< the bucket gains one call in this time
  };
  static Limit LimitOf(Kind kind);

  explicit CallLimits(std::size_t most_callers = kMaxLimitedCallers) : most_(most_callers) {}

  /// Whether this caller may ask now. If so, the call is counted.
  bool Take(const std::string& caller, Kind kind, TimePoint now);
  /// How many callers are remembered.
  std::size_t size() const { return callers_.size(); }

 private:
  /// For each kind, when the bucket will be full again. A time in the past: it is full.
  using Buckets = std::array<TimePoint, 3>;

  Buckets& BucketsOf(const std::string& caller, TimePoint now);
  /// Forgets the callers whose buckets are all full.
  void Forget(TimePoint now);

  const std::size_t most_;
  std::unordered_map<std::string, Buckets> callers_;  // at most most_
  Buckets others_{};                                  // of those beyond
  TimePoint forget_at_{};                             // not earlier
};

inline constexpr std::array kCallKinds = {CallLimits::Kind::kRoutes, CallLimits::Kind::kRead,
                                          CallLimits::Kind::kDiagnose};
/// "routes", "read", "diagnose".
const char* ToString(CallLimits::Kind kind);
/// "at most 50 questions a second".
std::string Words(CallLimits::Kind kind);

/// The name under which a caller's calls are counted: its token's or its certificate's, else its
/// user, else the host that it calls from. An IPv6 address counts as its network of 64 bits, since
/// one host may have all addresses there.
std::string LimitedAs(const Caller& caller);

}  // namespace baton::access
