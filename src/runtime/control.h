// Control: a node as operators and scrapes see it. What the admin service, HTTP and metrics are
// built on; implemented by the node, and by nothing else in production.
//
// Thread-safe. Handlers are called exactly once, on the node's loop thread or on the caller's: they
// must not block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "baton/export.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton::runtime {

/// How often a node logs that it is there; of one that has nothing to tell the only lines.
inline constexpr Duration kHeartbeatEvery = std::chrono::hours(1);

/// The node's own session, as one word.
enum class SessionPhase : std::uint8_t {
  kOpening,    ///< no live lease yet (or again)
  kLive,       ///< renewals are confirmed
  kSuspended,  ///< past the local deadline, lease perhaps alive
  kDraining,   ///< handing over
  kEnded,      ///< drained or stopped
  kHalted,     ///< stopped for good, see NodeStatus::halted
  kRelay,      ///< none: a relay takes no part
};
/// "opening", "live", "suspended", "draining", "ended", "halted", "relay".
inline const char* ToString(SessionPhase phase) {
  switch (phase) {
    case SessionPhase::kOpening: return "opening";
    case SessionPhase::kLive: return "live";
    case SessionPhase::kSuspended: return "suspended";
    case SessionPhase::kDraining: return "draining";
    case SessionPhase::kEnded: return "ended";
    case SessionPhase::kHalted: return "halted";
    case SessionPhase::kRelay: return "relay";
  }
  return "unknown";
}

struct MemberStatus {
  MemberFact fact;
  bool drained_by_policy = false;
  std::uint32_t led = 0;     ///< shards in force
  std::uint32_t target = 0;  ///< seats by the division
};

struct ShardStatus {
  ShardId shard;
  NodeId leader;        ///< empty: nobody in force
  std::string address;  ///< the leader's service address
  Term term;            ///< 0 where nobody leads
  ShardState state = ShardState::kLeaderless;
  Reason reason = Reason::kStartup;  ///< why the present leader leads (or nobody)
  NodeId previous;
  std::optional<MoveFact> move;  ///< a live move
  bool quarantined = false;      ///< its record can't be read
};

/// Counts since the node started; monotonic.
struct NodeCounters {
  std::map<Reason, std::uint64_t> transitions;  ///< that this node counted
  std::map<std::string, std::uint64_t> moves;   ///< by result: done, void, refused, timed_out
  std::uint64_t renewals_confirmed = 0;
  std::uint64_t renewals_failed = 0;
  std::uint64_t watch_resyncs = 0;
  std::uint64_t watch_stale_events = 0;  ///< events that went back in time, dropped
  std::uint64_t records_quarantined = 0;
  std::uint64_t callbacks_timed_out = 0;
  std::uint64_t callbacks_failed = 0;
  std::uint64_t log_records_dropped = 0;  ///< of this process: stderr is read too slowly
  std::uint64_t requests_refused = 0;     ///< operators' changes, because too many waited for etcd
};

/// A consistent picture of the group in this node's view, at `revision`.
struct NodeStatus {
  std::string group;
  NodeId node;
  std::string version;
  std::uint32_t shard_count = 0;
  HashFunction hash = HashFunction::kMurmur2;
  SessionPhase session = SessionPhase::kOpening;
  SessionId session_id;
  std::optional<Error> halted;
  bool ready = false;                       ///< session live and view complete
  std::string not_ready;                    ///< one line, where not ready
  Revision revision;                        ///< the view is complete up to here
  std::chrono::nanoseconds view_age{0};     ///< since the last proof that it is current
  std::chrono::nanoseconds renewal_age{0};  ///< since the last confirmed renewal was sent
  std::chrono::milliseconds ttl{0};         ///< granted
  NodeId balancer;                          ///< empty: none in force
  bool paused = false;
  bool rebalance_requested = false;   ///< an operator's "apply" is being carried out
  bool braking = false;               ///< succession waits: too many members vanished at once
  std::vector<MemberStatus> members;  ///< by id; also those not live
  std::vector<ShardStatus> shards;    ///< by number
  std::uint32_t leaderless = 0;       ///< shards without a leader in force
  std::vector<Transition> recent;     ///< the last in its history, oldest first (<= 256)
  NodeCounters counters;
};

struct TransferRequest {
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;  ///< kFailedPrecondition where the term is another
  bool dry_run = false;
  std::string actor;
};
struct PolicyRequest {
  enum class Verb : std::uint8_t {
    kDrain,
    kUndrain,
    kPause,
    kResume,
    kRebalance,
    kCancelRebalance
  };
  Verb verb = Verb::kPause;
  NodeId node;  ///< for kDrain and kUndrain
  bool dry_run = false;
  std::string actor;
};

class History;

/// What happens in the node, for metrics. Called on the loop thread, in order; must be quick.
class BATON_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnTransition(const Transition& transition) { (void)transition; }
  /// The node stopped for good; also where it had before the observer was added.
  virtual void OnHalted(const Error& why) { (void)why; }
  /// phase: prepare, release, transfer.
  virtual void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) {
    (void)phase, (void)took;
  }
};

/// Who leads a shard, shared by all its routes.
struct RouteLeader {
  NodeId node;
  std::string address;  ///< its service address
};

/// Where a shard's requests go, in one view.
struct Route {
  ShardId shard;
  std::shared_ptr<const RouteLeader> leader;  ///< null: nobody leads
  Term term;                                  ///< 0 where nobody leads
  ShardState state = ShardState::kLeaderless;
  /// The etcd revision from which the route is known. It never goes back, and a change at revision
  /// r has one of at least r in every view: who knows all routes up to r asks for later ones alone.
  /// What only the leader knows (activating, suspended) changes without it.
  Revision revision;
};

/// Whose routes they are; fixed, but that `cluster` may become known later.
struct RouteGroup {
  std::string group;
  std::string server;  ///< the node or relay
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  std::uint64_t cluster = 0;  ///< HistoryOf (route_feed.h): revisions of another don't compare
};

struct RouteBatch {
  std::shared_ptr<const RouteGroup> group;  ///< never null
  std::vector<Route> routes;  ///< that changed, each shard once; an observer's first batch: all
  Revision revision;          ///< with this batch the routes are complete up to here
  TimePoint proven_at{};      ///< when the view was last proven current
  Duration stale_after{};     ///< a view whose proof is older than this says that it is stale
};

/// Follows a view's routes. Called on the loop thread, in order; must be quick. A storm of changes
/// comes in few batches; where only revision or proof moved on, a batch without routes says so
/// within half a second.
class BATON_EXPORT RouteObserver {
 public:
  virtual ~RouteObserver() = default;
  virtual void OnRoutes(const RouteBatch& batch) = 0;
  /// No batch follows: the view's owner stops, or has halted. At most once.
  virtual void OnRoutesEnded(const Error& why) = 0;
};

class BATON_EXPORT Control {
 public:
  virtual ~Control() = default;

  /// The newest picture; built at most every 50 ms, never older than that when asked.
  virtual void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) = 0;
  /// The loop has turned within a bound (TTL / 3). Lock-free.
  virtual bool Alive() const noexcept = 0;
  /// Session live and view complete; of a relay, the view alone. Lock-free.
  virtual bool Ready() const noexcept = 0;
  /// What probes are told while Ready(): one line.
  virtual std::string ReadyWords() const { return "ready"; }
  virtual baton::Leadership LeadershipOf(ShardId shard) const noexcept = 0;

  /// Writes an operator's move of one shard. Done once the move is written (or, for a dry run,
  /// found possible): watch GetStatus for its end.
  virtual void Transfer(TransferRequest request, std::function<void(Result<MoveFact>)> handler) = 0;
  /// Writes or deletes a policy. Idempotent.
  virtual void SetPolicy(PolicyRequest request, std::function<void(Status)> handler) = 0;
  /// What the balancer would move now, delays and cooldowns aside.
  virtual void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) = 0;

  /// The transitions that this node saw; null: it keeps none. Thread-safe, whatever the node does.
  virtual std::shared_ptr<const History> history() const { return nullptr; }

  /// Adds an observer for as long as the node lives; before any call is served.
  virtual void AddObserver(std::shared_ptr<Observer> observer) = 0;
  /// Adds an observer of routes for as long as the node lives; the first batch comes once the view
  /// is complete. Where nobody observes, routes cost nothing.
  virtual void AddRouteObserver(std::shared_ptr<RouteObserver> observer) = 0;
  /// Seconds of each etcd call so far, by (method, code): count, sum and cumulative buckets.
  struct CallStats {
    static constexpr double kBounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,   0.1,   0.25,   0.5,   1,    2.5};
    std::uint64_t count = 0;
    double sum = 0;
    std::uint64_t buckets[std::size(kBounds) + 1] = {};  ///< not cumulative; last: above all bounds
  };
  virtual std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const = 0;
};

}  // namespace baton::runtime
