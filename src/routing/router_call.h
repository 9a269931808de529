// One call of a router: attempts at one leader after another until there is an answer.
//
// Runs on the caller's thread. Between attempts it waits for the shard's route to change, for as
// long as the backoff lets it; only while a connection is being made does it look every
// kConnectTurn.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <grpcpp/support/status.h>

#include "base/clock.h"
#include "baton/router.h"
#include "routing/channel_cache.h"
#include "routing/flights.h"
#include "routing/refusals.h"
#include "routing/route_store.h"

namespace baton::routing {

inline constexpr Duration kFirstBackoff = std::chrono::milliseconds(5);
inline constexpr Duration kLongestBackoff = std::chrono::milliseconds(500);
inline constexpr Duration kConnectTurn = std::chrono::milliseconds(20);

/// RouterCounters of calls, as they are counted.
struct CallCounters {
  std::atomic<std::uint64_t> ok{0}, failed{0}, refused{0}, unavailable{0}, unknown{0};
  std::atomic<std::uint64_t> attempts{0}, misroutes{0}, redirects{0}, waits{0}, superseded{0};
};

/// What all calls of a router have in common; they outlive each call.
struct CallParts {
  const std::string& group;
  RouteStore& store;
  ChannelCache& channels;
  Flights& flights;
  CallCounters& counters;
};

class RouterCall {
 public:
  /// REQUIRES: routes were read; a shard in range; options that were checked.
  RouterCall(const CallParts& parts, ShardId shard, TimePoint deadline, const CallOptions& options,
             std::string request_id);
  /// Once.
  grpc::Status Run(const Router::Attempt& attempt);

 private:
  /// Where one attempt goes.
  struct Destination {
    std::string address;
    Term term;
    friend bool operator==(const Destination&, const Destination&) = default;
  };
  /// What became of an attempt.
  enum class Outcome {
    kAnswered,   ///< the caller's answer
    kElsewhere,  ///< NOT_LEADER: nothing took effect
    kReplaced,   ///< nothing was sent: the route changed meanwhile
    kNotNow,     ///< nobody may serve, or the server can't be reached: nothing took effect
    kUnknown,    ///< it may have taken effect
  };

  std::optional<Destination> Choose(const Route& route) const;
  Outcome Try(const Destination& destination, const RouteStore::Newest& found,
              const Router::Attempt& attempt);
  bool Connect(grpc::Channel& channel, const RouteStore::Newest& found);
  Outcome Judge(const Destination& destination, TimePoint attempt_deadline, bool superseded);
  Outcome TakeRefusal(const Destination& destination, const RefusalDetails& details);
  bool GoOnAtOnce(const Destination& destination);
  bool Await(const RouteStore::Newest& found, TimePoint until);
  Duration NextBackoff();
  grpc::Status GiveUp(const Route& route);
  /// The last status, counted as OK or as `otherwise`.
  grpc::Status Answer(std::atomic<std::uint64_t>& otherwise);

  const CallParts& parts_;
  const ShardId shard_;
  const TimePoint begun_;
  const TimePoint deadline_;
  const CallOptions& options_;
  const std::string request_id_;

  std::optional<HintedLeader> hint_;
  std::uint32_t attempts_ = 0;
  std::uint32_t unknown_attempt_ = 0;  ///< the last one that may have taken effect; 0: none
  int hops_ = 0;                       ///< since the last wait
  Duration backoff_ = kFirstBackoff;
  std::optional<std::chrono::milliseconds> told_wait_;  ///< by the last refusal
  grpc::Status last_;
  std::string last_address_;
};

}  // namespace baton::routing
