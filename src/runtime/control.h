// Control: a node as operators and metrics see it. The admin service, HTTP and metrics are built on
// it. Nodes and relays implement it.
//
// Thread-safe. A handler is called exactly once, on the node's loop or on the caller's thread, so
// it must not block.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/server_identity.h"
#include "baton/export.h"
#include "baton/result.h"
#include "baton/types.h"
#include "runtime/doctor/finding.h"
#include "runtime/shared_blocks.h"

namespace baton::core {
struct AssignmentOfView;
}

namespace baton::runtime {

/// How often a node logs a heartbeat line. A quiet node logs nothing else.
inline constexpr Duration kHeartbeatEvery = std::chrono::hours(1);

// What a stopped node, or a stopped relay, answers.
inline const Error kNodeStopped{ErrorCode::kUnavailable, "the node has stopped; ask another"};
inline const Error kRelayStopped{ErrorCode::kUnavailable, "the relay has stopped; ask another"};

/// The state of the node's own session, as one word.
enum class SessionPhase : std::uint8_t {
  kOpening,    ///< no live lease yet, or not again yet
  kLive,       ///< renewals are confirmed
  kSuspended,  ///< the local deadline has passed; the lease may still be alive
  kDraining,   ///< handing its shards over
  kEnded,      ///< drained or stopped
  kHalted,     ///< stopped for good, see NodeStatus::halted
  kRelay,      ///< a relay has no session
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
  std::uint32_t led = 0;     ///< shards whose leader it is
  std::uint32_t target = 0;  ///< shards that it should lead by the assignment
  /// Of `led`: shards on which it has stopped. Only the node itself knows; 0 for other nodes.
  std::uint32_t suspended = 0;
};

/// Whether the node may begin to lead, and is not draining, as core/may_claim.h says.
bool MayBeginToLead(const MemberStatus& member);

/// A member that left within the last hour, as the answering process saw it: see core::Departure.
struct DepartedMember {
  NodeId node;
  SessionId session;
  std::chrono::nanoseconds age{0};  ///< since it was seen to leave
  std::optional<Reason> why = {};   ///< unset: not known
  std::uint32_t led = 0;            ///< shards that it led until then
  bool back = false;                ///< it has a session again
};

/// The leader's `acquired` has failed, and the leader calls it again and again. Only the leader
/// knows that.
struct FailingActivation {
  std::uint32_t attempts = 0;          ///< that have failed since the leader gained the shard
  std::chrono::nanoseconds lasted{0};  ///< since the first of them failed
  std::string last_error;              ///< one line; the engine cuts what callbacks throw
};

struct ShardStatus {
  ShardId shard;
  NodeId leader;        ///< empty: nobody leads
  std::string address;  ///< the leader's service address
  Term term;            ///< 0 if nobody leads
  ShardState state = ShardState::kLeaderless;
  Reason reason = Reason::kStartup;  ///< why this leader leads, or why nobody does
  NodeId previous;
  std::optional<MoveFact> move;              ///< set only while the move is live
  bool quarantined = false;                  ///< its record can't be read
  std::optional<FailingActivation> failing;  ///< set only on the leader itself
  /// how many leaderships in a row were short and ended in a death, up to the present one; 0 once
  /// that one is not short any more
  std::uint32_t deaths = 0;
  std::chrono::nanoseconds claims_wait{0};  ///< how long nobody may claim it, after these deaths
  /// Of a shard that nobody leads: the node that alone may claim it, by the group's failover
  /// settings. Empty: any node, or none for now.
  NodeId waits_for;
  /// From when on other nodes may claim it, too, if `waits_for` is set; unset: never, or not known.
  /// These two times are of the clock of NodeStatus::at.
  std::optional<TimePoint> others_from;
  /// Of a shard that nobody leads: until when the lock delay keeps everybody from claiming it.
  std::optional<TimePoint> locked_until;
};

/// How long the lock delay still keeps everybody from claiming the shard; 0: it does not.
inline std::chrono::nanoseconds LockWait(const ShardStatus& shard, TimePoint at) {
  if (!shard.locked_until || *shard.locked_until <= at) return std::chrono::nanoseconds{0};
  return *shard.locked_until - at;
}
/// In how long other nodes than the shard's `waits_for` may claim it; unset: never, or not known.
inline std::optional<std::chrono::nanoseconds> OthersWait(const ShardStatus& shard, TimePoint at) {
  if (shard.waits_for.empty() || !shard.others_from) return std::nullopt;
  return std::max<std::chrono::nanoseconds>(*shard.others_from - at, std::chrono::nanoseconds{0});
}
/// Whether nobody, or one node alone, may claim the shard now, by the group's failover settings.
inline bool WaitsBySettings(const ShardStatus& shard, TimePoint at) {
  return !shard.waits_for.empty() || LockWait(shard, at).count() > 0;
}

/// Orders failing shards: the one with the most failed attempts first, then the one that has failed
/// for longest, then by number. REQUIRES: both fail.
inline bool WorseFailing(const ShardStatus& left, const ShardStatus& right) {
  return std::tuple(right.failing->attempts, right.failing->lasted, left.shard) <
         std::tuple(left.failing->attempts, left.failing->lasted, right.shard);
}

/// Counts since the node started; monotonic.
struct NodeCounters {
  std::map<Reason, std::uint64_t> transitions;  ///< those that this node counted
  std::map<std::string, std::uint64_t> moves;   ///< by result: done, void, refused, timed_out
  std::uint64_t renewals_confirmed = 0;
  std::uint64_t renewals_failed = 0;
  std::uint64_t watch_resyncs = 0;
  std::uint64_t watch_stale_events = 0;  ///< events that went back in time and were dropped
  std::uint64_t records_quarantined = 0;
  std::uint64_t callbacks_timed_out = 0;
  std::uint64_t callbacks_failed = 0;
  std::uint64_t activation_failures = 0;  ///< attempts to activate a shard
  std::uint64_t log_records_dropped = 0;  ///< because the log is read too slowly
  std::uint64_t requests_refused = 0;     ///< operators' changes: too many waited for etcd
};

/// The node's own guard, a process beside it.
struct GuardCounters {
  bool running = false;
  std::uint64_t starts = 0;  ///< one, if it never ended
};

/// The most shards that one node names as failing to activate. All are counted.
inline constexpr std::size_t kMaxFailingListed = 100;

/// A consistent snapshot of the group as this node sees it, at `revision`.
struct NodeStatus {
  std::string group;
  NodeId node;
  std::string version;
  std::uint32_t shard_count = 0;
  HashFunction hash = HashFunction::kMurmur2;
  SessionPhase session = SessionPhase::kOpening;
  SessionId session_id;
  std::optional<Error> halted;
  bool ready = false;                    ///< session live and view complete
  std::string not_ready;                 ///< why not, in one line; empty if ready
  TimePoint at{};                        ///< when the snapshot was made, by this process's clock
  Revision revision;                     ///< the view is complete up to here
  std::chrono::nanoseconds view_age{0};  ///< since the view was last proven to be current
  /// etcd has not answered for longer than the TTL (a relay: 10 s), so the view may be out of date:
  /// what it says of other nodes was so `view_age` ago. What this node leads itself is always
  /// known, by its deadline.
  bool stale = false;
  std::chrono::nanoseconds renewal_age{0};  ///< since the last confirmed renewal was sent
  std::chrono::milliseconds ttl{0};         ///< as etcd granted it
  NodeId balancer;                          ///< empty: nobody
  bool paused = false;
  bool rebalance_requested = false;  ///< an operator's "apply" is being carried out
  bool braking = false;              ///< no vacancies are filled: too many members vanished at once
  std::uint32_t expected_nodes = 0;  ///< that the group should have, by an operator; 0: not set
  std::uint32_t max_moves = 0;       ///< in flight at most, by an operator; 0: not set
  FailoverSettings failover;         ///< of the group; as long as its config is not known: defaults
  std::uint32_t config_schema = 0;   ///< of the group's config; 0: not known
  /// What the members' targets were computed from; null: the view is not complete yet.
  std::shared_ptr<const core::AssignmentOfView> assignment;
  std::vector<MemberStatus> members;     ///< by id, including members that are not live
  std::vector<DepartedMember> departed;  ///< within the last hour, the newest first
  SharedBlocks<ShardStatus> shards;      ///< by number
  std::uint32_t failing = 0;             ///< shards that this node leads and fails to activate
  /// The worst of them first: those with the most failed attempts. At most kMaxFailingListed.
  std::vector<ShardStatus> worst_failing;
  /// Shards that this node leads and has not tried to activate yet, because activations fail here.
  std::uint32_t untried = 0;
  std::uint32_t leaderless = 0;  ///< shards that nobody leads
  std::uint32_t waiting = 0;     ///< of these, how many nobody may claim yet, because leaders died
  std::uint32_t waiting_by_settings = 0;  ///< of the others, how many WaitsBySettings
  std::vector<Transition> recent;         ///< the newest of the history, oldest first, at most 256
  NodeCounters counters;
};

struct TransferRequest {
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;  ///< kFailedPrecondition if the term differs
  bool dry_run = false;
  std::string actor;
  std::optional<Duration> within = {};  ///< see Control::Request
};
struct PolicyRequest {
  enum class Verb : std::uint8_t {
    kDrain,
    kUndrain,
    kPause,
    kResume,
    kRebalance,
    kCancelRebalance,
    kSetExpectedNodes,
    kSetMaxMoves
  };
  Verb verb = Verb::kPause;
  NodeId node;               ///< for kDrain and kUndrain
  std::uint32_t number = 0;  ///< for kSet...; 0: no longer set
  bool dry_run = false;
  std::string actor;
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Asks the leader of a shard that fails to activate to try again at once.
struct RetryRequest {
  ShardId shard;
  bool dry_run = false;
  std::string actor;
};

/// Changes how the group fails over. What is unset stays as it is.
struct GroupChangeRequest {
  std::optional<FailoverPolicy> failover = {};
  std::optional<std::chrono::milliseconds> delay = {};  ///< only with FailoverPolicy::kAfter
  std::optional<std::chrono::milliseconds> lock_delay = {};
  bool dry_run = false;
  std::string actor = {};
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Gives a shard up for a leader that is gone, so that any node may claim it.
struct ReleaseRequest {
  ShardId shard;
  bool dry_run = false;
  std::string actor = {};
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Files of a process on which its security depends. Empty names are left out.
struct SensitiveFiles {
  std::vector<std::string> secret = {};   ///< the password and the keys: nobody else may read them
  std::vector<std::string> trusted = {};  ///< the authorities: nobody else may write them
};

/// Facts for an examination. The caller knows them, the node does not.
struct ExamineRequest {
  /// The limit on the series of shards that this process exports; unset: not known.
  std::optional<std::size_t> max_shard_series = {};
  SensitiveFiles files = {};
  std::shared_ptr<const ServerIdentity> tls = {};  ///< of this process's ports; null: none
  /// The addresses of this process's ports that other hosts may reach; unset: not known.
  std::optional<std::vector<std::string>> exposed = {};
};

class History;

/// Observes a node's events, for metrics. The node calls it on its loop, in order, so it must be
/// quick.
class BATON_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnTransition(const Transition& transition) { (void)transition; }
  /// The node has halted: it has stopped for good. An observer that is added after that gets this
  /// call, too.
  virtual void OnHalted(const Error& why) { (void)why; }
  /// phase: prepare, release, transfer.
  virtual void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) {
    (void)phase, (void)took;
  }
};

/// A leader of shards; all of its routes share this object.
struct RouteLeader {
  NodeId node;
  std::string address;  ///< its service address
};

/// A shard's route as one view has it. Servers keep and send these; a Router turns what it receives
/// into a Route (baton/routes.h). A ViewRoute shares its leader's names, because threads pass it on
/// while a member's address changes, and it has the revision by which streams go on.
struct ViewRoute {
  ShardId shard;
  std::shared_ptr<const RouteLeader> leader;  ///< null: nobody leads
  Term term;                                  ///< 0 if nobody leads
  ShardState state = ShardState::kLeaderless;
  /// The etcd revision from which the route is known. It never decreases, and in every view a
  /// change made at revision r gets a route revision of at least r. So a caller that knows all
  /// routes up to revision r needs to ask only for routes with greater revisions. The states
  /// activating and suspended, which only the leader knows, change without a new revision.
  Revision revision;
};

/// Describes the group and the server of routes. Only `incarnation` can change.
struct RouteGroup {
  std::string group;
  std::string server;  ///< the name of the node or relay
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  std::uint64_t incarnation = 0;  ///< StoreIncarnationOf (route_feed.h), for comparing revisions
};

struct RouteBatch {
  std::shared_ptr<const RouteGroup> group;  ///< never null
  std::vector<ViewRoute> routes;  ///< each changed shard once; an observer's first batch: all
  Revision revision;       ///< with this batch, the observer's routes are complete up to here
  TimePoint proven_at{};   ///< when the view was last proven to be current
  Duration stale_after{};  ///< if the proof is older than this, the view counts as stale
};

/// Observes a view's routes. The node calls it on its loop, in order, so it must be quick.
/// RouteFeed says when a batch comes, and which routes it holds.
class BATON_EXPORT RouteObserver {
 public:
  virtual ~RouteObserver() = default;
  virtual void OnRoutes(const RouteBatch& batch) = 0;
  /// No batch follows, because the node or relay stops or has halted. Called at most once.
  virtual void OnRoutesEnded(const Error& why) = 0;
};

class BATON_EXPORT Control {
 public:
  virtual ~Control() = default;

  /// Hands over a snapshot of the node that is at most 50 ms old. After the node has stopped, the
  /// snapshot shows no members and no shards, and its counters are the last ones.
  virtual void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) = 0;
  /// Whether the loop made a turn recently: within a third of the TTL, at least 400 ms; in a relay
  /// within 3 s. Lock-free.
  virtual bool Alive() const noexcept = 0;
  /// Whether the session is live and the view complete. A relay is ready from the time when a
  /// complete view was proven to be current until it halts. Lock-free.
  virtual bool Ready() const noexcept = 0;
  /// The line that probes get while Ready() is true.
  virtual std::string ReadyWords() const { return "ready"; }
  virtual baton::Leadership LeadershipOf(ShardId shard) const noexcept = 0;

  // Operators' changes. If etcd gives no answer `within` that time, the handler is called with
  // kTimedOut: the change may still be made, now or later. Or with kUnavailable, if no copy of it
  // has left this node: then it is never made. Unset: the handler waits until the outcome is known.

  /// Starts an operator's move of one shard. The handler is called when the move was written, or
  /// when a dry run found it possible, or with the error. GetStatus shows how the move ends.
  virtual void Request(TransferRequest request, std::function<void(Result<MoveFact>)> handler) = 0;
  /// Calls the failing `acquired` of a shard that this node leads. Hands over how many attempts
  /// have failed before. kFailedPrecondition: the shard does not fail, or another node leads it.
  virtual void Request(RetryRequest request,
                       std::function<void(Result<std::uint32_t>)> handler) = 0;
  /// Writes or deletes a policy. Idempotent.
  virtual void Request(PolicyRequest request, std::function<void(Status)> handler) = 0;
  /// Changes the group's failover settings. A dry run finds out whether that could be done.
  /// kInvalidArgument: the settings make no sense. kFailedPrecondition: some member's version would
  /// not keep to them. Idempotent.
  virtual void Request(GroupChangeRequest request, std::function<void(Status)> handler) = 0;
  /// Gives up a shard whose last leader's session has ended, for that leader. A dry run finds out
  /// whether that could be done. kFailedPrecondition: it is led, or any node may claim it already.
  virtual void Request(ReleaseRequest request, std::function<void(Status)> handler) = 0;
  /// The moves that the balancer would make now if there were no delays or cooldowns. Calls the
  /// handler once, maybe on a thread that may wait. kUnavailable: the node's view is not complete,
  /// the node stops, or too many requests wait.
  virtual void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) = 0;

  /// The events that this node saw; null: it keeps no history. The history is thread-safe.
  virtual std::shared_ptr<const History> history() const { return nullptr; }

  /// Examines the node, its etcd and its group; takes seconds if etcd is away. Calls the handler
  /// once, on a thread that may wait. kUnavailable: the node stops, or too many requests wait.
  virtual void Examine(ExamineRequest request, std::function<void(Result<Diagnosis>)> handler) {
    (void)request;
    handler(Error{ErrorCode::kUnimplemented, "this process can't be examined"});
  }

  /// Adds an observer, and keeps it until the node ends. The observer is in place for every call of
  /// this interface that begins later.
  virtual void AddObserver(std::shared_ptr<Observer> observer) = 0;
  /// Adds an observer of routes, and keeps it until the node ends. Its first batch comes when the
  /// view is complete. Without observers, routes cost nothing.
  virtual void AddRouteObserver(std::shared_ptr<RouteObserver> observer) = 0;
  /// The durations of etcd calls so far in seconds, by (method, code).
  struct CallStats {
    static constexpr double kBounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,   0.1,   0.25,   0.5,   1,    2.5};
    std::uint64_t count = 0;
    double sum = 0;
    std::uint64_t buckets[std::size(kBounds) + 1] = {};  ///< not cumulative; last: above all bounds
  };
  virtual std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const = 0;
  /// The node's own guard (NodeOptions::guard); nullopt: it has none.
  virtual std::optional<GuardCounters> Guard() const { return std::nullopt; }
};

}  // namespace baton::runtime
