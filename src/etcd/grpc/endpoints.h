// Endpoints: ParseEndpoints reads endpoint lists; EndpointBook decides which endpoint is used next.
//
// EndpointBook is a pure state machine: `now` is an argument, nothing blocks, one thread at a time.
// Endpoints are numbers below size(), which is not checked. An endpoint is in one of three states:
//   usable       The endpoint is in neither of the two states below.
//   unavailable  Less than kUnavailableFor ago, a call returned UNAVAILABLE.
//   quarantined  Two calls in a row got no answer before their deadlines (a frozen member accepts
//                connections and is silent). This state ends when the endpoint answers a call or a
//                probe (a small linearizable read).
//
// If the current endpoint becomes unavailable or quarantined, the book chooses again at once, and
// prefers another endpoint in the same state. While the current endpoint is usable, it stays the
// current one, even if an earlier one is usable again.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"

namespace baton::etcd {

/// How long an endpoint stays unavailable.
inline constexpr Duration kUnavailableFor = std::chrono::seconds(1);
/// The time from a failed probe of an endpoint to its next probe.
inline constexpr Duration kProbeInterval = std::chrono::milliseconds(500);
/// How many calls in a row must miss their deadlines before an endpoint is quarantined.
inline constexpr int kMissesToQuarantine = 2;

enum class Security { kPlain, kTls };

struct Endpoint {
  std::string address;  ///< "host:port" or "[ipv6]:port"
  Security security = Security::kPlain;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Reads a list of endpoints, in its order. Each endpoint gets `security`. Returns
/// kInvalidArgument, with a message of one line, in these cases:
///  - The list is empty, or has more than kMaxEndpoints (64) entries.
///  - An entry is listed twice.
///  - CheckEndpoint (base/endpoint.h) refuses an entry.
Result<std::vector<Endpoint>> ParseEndpoints(const std::vector<std::string>& entries,
                                             Security security);

class EndpointBook {
 public:
  /// REQUIRES (checked): count >= 1, first < count.
  EndpointBook(std::size_t count, std::size_t first);

  std::size_t size() const { return endpoints_.size(); }

  /// Returns the endpoint for a new call, and makes it the current one. Usable endpoints come
  /// first, then unavailable ones, then quarantined ones. In each state, the current endpoint comes
  /// first, then those after it in the list, then those before it.
  std::size_t Current(TimePoint now);
  /// Returns the first endpoint that was not tried, in the order of Current; nullopt: all were
  /// tried. `tried`: by endpoint, whether it was tried. REQUIRES (not checked): `tried` has size()
  /// entries.
  std::optional<std::size_t> NextAfter(const std::vector<bool>& tried, TimePoint now) const;

  /// etcd answered a call through this endpoint. So the endpoint is usable, and its missed
  /// deadlines don't count any more. Call this for an error, too, except if the error says that the
  /// endpoint can't serve.
  void Answered(std::size_t endpoint, TimePoint now);
  /// A call through this endpoint returned UNAVAILABLE, or an error that says that the endpoint
  /// can't serve.
  void Unavailable(std::size_t endpoint, TimePoint now);
  /// A call that was sent at `sent` got no answer by its deadline. Ignored if the endpoint has
  /// answered a call after `sent`.
  void Missed(std::size_t endpoint, TimePoint sent, TimePoint now);
  bool Quarantined(std::size_t endpoint) const { return endpoints_[endpoint].quarantined; }

  /// Returns a quarantined endpoint that is due for a probe; nullopt: no endpoint is due. The first
  /// probe is due at once. From this call on, the probe runs until Answered or ProbeFailed is
  /// called for the endpoint. While a probe runs, the endpoint is not due.
  std::optional<std::size_t> TakeProbe(TimePoint now);
  /// The probe got no answer. The next probe is due after kProbeInterval.
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
