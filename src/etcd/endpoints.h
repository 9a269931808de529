// Which endpoint is used next: reading endpoint lists, and the book of each endpoint's state.
//
// EndpointBook is a pure state machine: `now` is an argument, nothing blocks, one thread at a time.
//
//   usable       answers, or nothing is known against it
//   unavailable  a call came back UNAVAILABLE: the next endpoint is used at once, and this one
//   comes
//                last among those not quarantined for kUnavailableFor
//   quarantined  two deadline misses in a row with no answer between (a frozen member accepts
//                connections and is silent): used only where nothing else is left, until a small
//                linearizable read through it is answered
//
// The current endpoint is kept while it is usable; nothing goes back to an earlier one by itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"

namespace baton::etcd {

inline constexpr std::size_t kMaxEndpoints = 64;
inline constexpr Duration kUnavailableFor = std::chrono::seconds(1);
inline constexpr Duration kProbeInterval = std::chrono::milliseconds(500);
inline constexpr int kMissesToQuarantine = 2;

enum class Security { kPlain, kTls };

struct Endpoint {
  std::string address;  ///< "host:port" or "[ipv6]:port"
  Security security = Security::kPlain;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Reads "host:port", "http://host:port" and "https://host:port"; `by_default` is the security of
/// those without a scheme. Errors: kInvalidArgument with one line that names the entry: none at
/// all, more than kMaxEndpoints, no port, a port out of range, a path, an unknown scheme, one
/// listed twice, or "http://" where TLS is asked for.
Result<std::vector<Endpoint>> ParseEndpoints(const std::vector<std::string>& entries,
                                             Security by_default);

class EndpointBook {
 public:
  /// REQUIRES: count >= 1, first < count.
  EndpointBook(std::size_t count, std::size_t first);

  std::size_t size() const { return endpoints_.size(); }

  /// The endpoint for a new call; the best one, the current one where several are equal.
  std::size_t Current(TimePoint now);
  /// The best one that is not in `tried` (by index); nullopt when all are.
  std::optional<std::size_t> NextAfter(const std::vector<bool>& tried, TimePoint now) const;

  /// A call through it was answered, by whatever but an endpoint's own complaint.
  void Answered(std::size_t endpoint, TimePoint now);
  void Unavailable(std::size_t endpoint, TimePoint now);
  /// A call sent at `sent` met its deadline. Ignored where the endpoint answered another one since.
  void Missed(std::size_t endpoint, TimePoint sent, TimePoint now);
  bool Quarantined(std::size_t endpoint) const { return endpoints_[endpoint].quarantined; }

  /// A quarantined endpoint whose probe is due; it counts as being probed until Answered or
  /// ProbeFailed.
  std::optional<std::size_t> TakeProbe(TimePoint now);
  void ProbeFailed(std::size_t endpoint, TimePoint now);

 private:
  struct State {
    int misses = 0;
    TimePoint answered{};
    TimePoint unavailable_until{};
    bool quarantined = false;
    bool probing = false;
    TimePoint next_probe{};
  };

  int Rank(std::size_t endpoint, TimePoint now) const;
  void MoveOnFrom(std::size_t endpoint, TimePoint now);

  std::vector<State> endpoints_;
  std::size_t current_;
};

}  // namespace baton::etcd
