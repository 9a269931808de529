// Endpoints: ParseEndpoints reads endpoint lists; EndpointBook decides which endpoint is used next.
//
// EndpointBook is a pure state machine: `now` is an argument, nothing blocks, one thread at a time.
// An endpoint is a number below size(), which is not checked. An endpoint is in one of three
// states:
//   usable       The endpoint is in neither of the two states below.
//   unavailable  A call returned UNAVAILABLE. For kUnavailableFor this endpoint comes last among
//                those that are not quarantined.
//   quarantined  Two calls ran into their deadlines, without an answer in between (a frozen member
//                accepts connections and is silent). Until this endpoint answers a call or a
//                probe (a small linearizable read), the book uses it only if no other one is left.
//
// If the current endpoint becomes unavailable or quarantined, the book switches to another one at
// once. It keeps a current endpoint that is usable. It never goes back to an earlier endpoint only
// because the earlier one is usable again.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"

namespace baton::etcd {

/// How long an unavailable endpoint comes last.
inline constexpr Duration kUnavailableFor = std::chrono::seconds(1);
/// The time between a failed probe of an endpoint and its next probe.
inline constexpr Duration kProbeInterval = std::chrono::milliseconds(500);
/// How many deadlines in a row an endpoint must miss to be quarantined.
inline constexpr int kMissesToQuarantine = 2;

enum class Security { kPlain, kTls };

struct Endpoint {
  std::string address;  ///< "host:port" or "[ipv6]:port"
  Security security = Security::kPlain;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Reads a list of endpoints, and keeps its order; all of them get `security`. kInvalidArgument,
/// with a message of one line: the list is empty, has more than kMaxEndpoints (64) entries, or has
/// an entry twice; or CheckEndpoint refuses an entry.
Result<std::vector<Endpoint>> ParseEndpoints(const std::vector<std::string>& entries,
                                             Security security);

class EndpointBook {
 public:
  /// REQUIRES (checked): count >= 1, first < count.
  EndpointBook(std::size_t count, std::size_t first);

  std::size_t size() const { return endpoints_.size(); }

  /// Returns the endpoint for a new call, and makes it the current one. Usable endpoints come
  /// first, then unavailable ones, then quarantined ones. Of several in the same state, the current
  /// one comes first, then those after it in the list, then those before it.
  std::size_t Current(TimePoint now);
  /// Returns the best endpoint that is not in `tried`, in the same order; nullopt: all are in
  /// `tried`. REQUIRES (not checked): `tried` has an entry for each endpoint, which says whether
  /// the endpoint is in it.
  std::optional<std::size_t> NextAfter(const std::vector<bool>& tried, TimePoint now) const;

  /// etcd answered a call through this endpoint, so the endpoint is usable, and its missed
  /// deadlines don't count any more. Call this for an error, too, except for an error which says
  /// that the endpoint can't serve.
  void Answered(std::size_t endpoint, TimePoint now);
  /// A call through this endpoint returned UNAVAILABLE, or an error which says that the endpoint
  /// can't serve.
  void Unavailable(std::size_t endpoint, TimePoint now);
  /// A call that was sent at `sent` got no answer by its deadline. Ignored if the endpoint has
  /// answered a call after `sent`.
  void Missed(std::size_t endpoint, TimePoint sent, TimePoint now);
  bool Quarantined(std::size_t endpoint) const { return endpoints_[endpoint].quarantined; }

  /// Returns a quarantined endpoint that is due for a probe, and counts the probe as running;
  /// nullopt: no endpoint is due. The first probe is due at once. A probe runs until Answered or
  /// ProbeFailed is called for the endpoint; meanwhile the endpoint is not due.
  std::optional<std::size_t> TakeProbe(TimePoint now);
  /// The probe got no answer. The next one is due after kProbeInterval.
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
