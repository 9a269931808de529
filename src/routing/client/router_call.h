// RouterCall: one call of a router. It makes attempts, at one leader after another, until an
// attempt has an answer for the caller. It runs on the caller's thread.
//
// Between two attempts the call waits for the backoff, or until the shard's route changes. The
// backoff doubles from kFirstBackoff to kLongestBackoff. Each wait is a random time from half of
// the backoff to all of it. If the attempt ended with UNAVAILABLE and a RetryInfo, the wait depends
// on the RetryInfo: see Router::Call.
//
// If a newer leader is known after NOT_LEADER, the call goes to this leader without a wait. It does
// so up to CallOptions::max_hops times in a row. The refusal may hint at a leader that the routes
// don't name yet. If a hinted leader can't serve, or if max_hops hinted leaders refuse, the call
// goes back to the leader in the routes. So false hints can't keep a call from the true leader.
//
// If the shard has no leader with a usable address, the call waits until the route changes or the
// deadline has passed. While the call waits for a connection, it checks the route every
// kConnectTurn. If the route has changed, the call gives this connection up.
//
// An attempt that may have taken effect is repeated only with CallOptions::retry_unknown.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <grpcpp/support/status.h>

#include "base/clock.h"
#include "baton/router.h"
#include "routing/client/channel_cache.h"
#include "routing/client/in_flight_attempts.h"
#include "routing/client/route_store.h"
#include "routing/leader_address.h"
#include "routing/refusals.h"

namespace baton::routing {

inline constexpr Duration kFirstBackoff = std::chrono::milliseconds(5);
inline constexpr Duration kLongestBackoff = std::chrono::milliseconds(500);
inline constexpr Duration kConnectTurn = std::chrono::milliseconds(20);

/// The counters of Router::counters() that calls increment.
struct CallCounters {
  std::atomic<std::uint64_t> ok{0}, failed{0}, refused{0}, unavailable{0}, unknown{0};
  std::atomic<std::uint64_t> attempts{0}, misroutes{0}, redirects{0}, waits{0}, superseded{0};
};

/// The parts that all calls of a router share. REQUIRES: they outlive each call.
struct CallParts {
  const std::string& group;
  RouteStore& store;
  ChannelCache& channels;
  InFlightAttempts& in_flight_attempts;
  CallCounters& counters;
  LeaderAddresses addresses;  ///< which addresses in hints are usable
};

class RouterCall {
 public:
  /// REQUIRES: all routes were read once; `shard` is in range; `options` are valid; `parts` and
  /// `options` outlive this object. Run checks only that a stream of routes has begun, and that the
  /// shard is in range.
  RouterCall(const CallParts& parts, ShardId shard, TimePoint deadline, const CallOptions& options,
             std::string request_id);
  /// Makes attempts and returns the status for the caller, which Router::Call describes. Gives up
  /// when the deadline has passed or the store is closed, but waits until a running attempt has
  /// ended. If `attempt` throws, the exception passes through. REQUIRES: called once.
  grpc::Status Run(const Router::Attempt& attempt);

 private:
  /// The leader that an attempt goes to.
  struct Destination {
    std::string address;
    Term term;
    friend bool operator==(const Destination&, const Destination&) = default;
  };
  /// The result of an attempt.
  enum class Outcome {
    kAnswered,   ///< the status is the caller's answer
    kElsewhere,  ///< NOT_LEADER: the attempt took no effect
    kReplaced,   ///< nothing was sent, because the route changed meanwhile
    kNotNow,     ///< nothing took effect: no node may serve now, or the server can't be reached
    kUnknown,    ///< the attempt may have taken effect
  };

  std::optional<Destination> Choose(const Route& route) const;
  Outcome Try(const Destination& destination, const RouteStore::Newest& found,
              const Router::Attempt& attempt);
  enum class Connection {
    kReady,
    kFailing,  ///< the server can't be reached
    kNone,     ///< no connection, and the deadline passed, the route changed, or the store closed
  };
  Connection Connect(grpc::Channel& channel, const RouteStore::Newest& found);
  void NoteAnswer(const Destination& destination, const grpc::Channel& channel, TimePoint begun,
                  bool superseded, Outcome outcome);
  Outcome Judge(const Destination& destination, TimePoint attempt_deadline, bool superseded);
  Outcome TakeRefusal(const Destination& destination, const RefusalDetails& details);
  bool GoOnAtOnce(const Destination& destination);
  bool Await(const RouteStore::Newest& found, TimePoint until);
  Duration NextBackoff();
  grpc::Status GiveUp(const Route& route);
  /// Returns the last status. Counts it as ok, or in `otherwise`.
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
  int hops_ = 0;                       ///< how many redirects followed the last wait
  Duration backoff_ = kFirstBackoff;
  std::optional<std::chrono::milliseconds> told_wait_;  ///< RetryInfo of the last attempt's refusal
  grpc::Status last_;
  std::string last_address_;
};

}  // namespace baton::routing
