// Control: a node or relay as operators and metrics see it. The admin service, HTTP and metrics are
// built on it. "The node" below is also a relay, unless a comment says otherwise.
//
// Thread-safe from the node's start until the node is destroyed, also after its stop. But in a
// child made by fork(), only LeadershipOf may be called. Each handler is called exactly once, on a
// thread of the node or on the caller's thread, maybe before the call returns. So a handler must
// not throw, and may block only if the method says so.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/log.h"
#include "base/node_change.h"
#include "base/server_identity.h"
#include "baton/export.h"
#include "baton/result.h"
#include "baton/types.h"
#include "runtime/doctor/finding.h"
#include "runtime/node_counters.h"
#include "runtime/shared_blocks.h"

namespace baton::core {
struct AssignmentOfView;
}

namespace baton::runtime {

/// How often a node logs a heartbeat line. A quiet node logs nothing else.
inline constexpr Duration kHeartbeatEvery = std::chrono::hours(1);

// The error of a stopped node, and of a stopped relay.
inline const Error kNodeStopped{ErrorCode::kUnavailable, "the node has stopped; ask another"};
inline const Error kRelayStopped{ErrorCode::kUnavailable, "the relay has stopped; ask another"};

/// The state of the node's own session, as one word.
enum class SessionPhase : std::uint8_t {
  kOpening,    ///< no confirmed renewal of the present session yet, or no session
  kLive,       ///< renewals are confirmed
  kSuspended,  ///< the local deadline has passed; the lease may still be alive
  kDraining,   ///< it gives its shards away, because it stops
  kEnded,      ///< drained or stopped
  kHalted,     ///< stopped for good, see NodeStatus::halted
  kRelay,      ///< a relay, which has no session
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
  MemberFact fact;  ///< without `ready`: ShardStatus::standbys has it
  bool drained_by_policy = false;
  std::uint32_t led = 0;     ///< the number of shards that it leads
  std::uint32_t target = 0;  ///< the number of shards that it should lead by the assignment
  /// How many of the shards in `led` are suspended. Only the node itself knows; 0 for other nodes.
  std::uint32_t suspended = 0;
};

/// Whether the node is live, has a weight above 0, and is not draining. Ignores placement rules,
/// and whether the node gets nothing for now (NodesThatGetNothing in core/may_claim.h).
bool MayBeginToLead(const MemberStatus& member);

/// A member that left within the last hour, as the answering process saw it: see core::Departure.
struct DepartedMember {
  NodeId node;
  SessionId session;
  std::chrono::nanoseconds age{0};  ///< the time since that process saw the member leave
  std::optional<Reason> why = {};   ///< unset: not known
  std::uint32_t led = 0;            ///< how many shards it led at the end
  bool back = false;                ///< it has a session again
};

/// The failures of a shard's `acquired`, which its leader calls again and again. Only the leader
/// knows them.
struct FailingActivation {
  std::uint32_t attempts = 0;          ///< how many failed since the leader gained the shard
  std::chrono::nanoseconds lasted{0};  ///< the time since the first of them failed
  std::string last_error;              ///< one line, of at most 256 bytes and "..."
};

/// A node that stands by for a shard.
struct StandbyStatus {
  NodeId node;
  std::string address;  ///< its service address
  bool ready = false;   ///< its application says that it could take over at once
  friend auto operator<=>(const StandbyStatus&, const StandbyStatus&) = default;
};

struct ShardStatus {
  ShardId shard;
  NodeId leader;        ///< empty: nobody leads
  std::string address;  ///< the leader's service address
  Term term;            ///< 0 if nobody leads
  ShardState state = ShardState::kLeaderless;
  Reason reason = Reason::kStartup;      ///< why this leader leads, or why nobody does
  Cause cause;                           ///< why this leader got it; kUnknown if nobody leads
  NodeId previous;                       ///< the leader before; if nobody leads, the last leader
  std::shared_ptr<const MoveFact> move;  ///< null unless the move is live; few shards have one
  bool quarantined = false;              ///< the shard's record can't be read
  std::optional<FailingActivation> failing;  ///< set only on the leader itself
  /// How many leaderships in a row were short and ended in a death, before the present one. 0 once
  /// the present one has lasted (core::DeathBackoff).
  std::uint32_t deaths = 0;
  std::chrono::nanoseconds claims_wait{0};  ///< for how long nobody may claim it after these deaths
  /// If nobody leads it: the only node that may claim it, by failover settings. Empty: any, none.
  NodeId waits_for;
  bool waits_for_directory = false;  ///< it is live, but not with the state directory that led
  /// From when on other nodes may claim it, too, if `waits_for` is set; unset: never, or not known.
  /// This time and `locked_until` are of the clock of NodeStatus::at.
  std::optional<TimePoint> others_from;
  /// Of a shard that nobody leads: until when the lock delay keeps everybody from claiming it.
  std::optional<TimePoint> locked_until;
  std::uint32_t rule = 0;         ///< the placement rule that counts for it, from 1; 0: none does
  bool nobody_may_lead = false;   ///< nobody leads it, and the rule lets no live node lead it
  bool led_against_rule = false;  ///< the rule would not let its leader begin to lead it
  bool without_ready_standby = false;  ///< its rule asks for standbys, and none is ready
  /// The first to take over first; null if the shard has no standbys.
  std::shared_ptr<const std::vector<StandbyStatus>> standbys;
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
/// Whether the group's failover settings let nobody, or only one node, claim the shard now.
inline bool WaitsBySettings(const ShardStatus& shard, TimePoint at) {
  return !shard.waits_for.empty() || LockWait(shard, at).count() > 0;
}

/// Orders failing shards: the one with the most failed attempts first, then the one that has failed
/// for longest, then by number. REQUIRES: both fail.
inline bool WorseFailing(const ShardStatus& left, const ShardStatus& right) {
  return std::tuple(right.failing->attempts, right.failing->lasted, left.shard) <
         std::tuple(left.failing->attempts, left.failing->lasted, right.shard);
}

/// The most shards in NodeStatus::worst_failing; the count `failing` has no bound.
inline constexpr std::size_t kMaxFailingListed = 100;
/// The most shards in NodeStatus::longest_stopping: no more callbacks of a Listener run at once.
/// The count `stopping` has no bound: it includes shards whose `lost` waits for a thread.
inline constexpr std::size_t kMaxStoppingListed = 256;

/// A shard whose leadership on this node ended more than callback_timeout ago, and whose `lost` has
/// not returned yet.
struct StoppingShard {
  ShardId shard;
  Duration lasted{};  ///< since the leadership ended
};
/// Orders stopping shards: the one that takes longest first, then by number.
inline bool LongerStopping(const StoppingShard& left, const StoppingShard& right) {
  return std::tuple(right.lasted, left.shard) < std::tuple(left.lasted, right.shard);
}

/// A consistent snapshot of the group as this node sees it, at `revision`.
struct NodeStatus {
  std::string group;
  NodeId node;
  std::string version;
  std::uint32_t shard_count = 0;
  HashFunction hash = HashFunction::kMurmur2;
  SessionPhase session = SessionPhase::kOpening;
  SessionId session_id;         ///< 0: no session
  std::optional<Error> halted;  ///< why it has stopped for good; unset: it has not halted
  bool ready = false;           ///< see Control::Ready
  std::string not_ready;        ///< why not, in one line; empty if ready
  TimePoint at{};               ///< when the snapshot was made, by this process's clock
  Revision revision;            ///< the view is complete up to here
  /// The time since the view was last proven to be current; 0: there is no complete view yet.
  std::chrono::nanoseconds view_age{0};
  /// `view_age` is longer than the TTL (a relay: 10 s). So what the view shows of other nodes may
  /// be out of date. What this node leads itself is always known, by its deadline.
  bool stale = false;
  /// The time since the last confirmed renewal was sent, also of an earlier session; 0: no renewal
  /// was confirmed yet.
  std::chrono::nanoseconds renewal_age{0};
  std::chrono::milliseconds ttl{0};  ///< etcd's last grant; before the first, what is asked for
  NodeId balancer;                   ///< empty: no node
  bool paused = false;
  bool rebalance_requested = false;  ///< an operator's "apply" is being carried out
  bool braking = false;              ///< no vacancies are filled: too many members vanished at once
  std::uint32_t expected_nodes = 0;  ///< how many nodes an operator expects; 0: not set
  std::uint32_t max_moves = 0;       ///< the most moves in flight, by an operator; 0: not set
  // An operator's settings for planned moves (PolicyKind::kLimits). Unset: each node's own option.
  std::optional<std::chrono::milliseconds> rebalance_delay = {};
  std::optional<std::chrono::milliseconds> cooldown = {};
  FailoverSettings failover;        ///< the group's; the defaults before its config is known
  Placement placement;              ///< the group's rules; none before its config is known
  std::uint32_t config_schema = 0;  ///< of the group's config; 0: not known
  /// What the members' targets were computed from; null: the view is not complete yet.
  std::shared_ptr<const core::AssignmentOfView> assignment;
  /// By id, including members that are not live; empty until the view is complete.
  std::vector<MemberStatus> members;
  std::vector<DepartedMember> departed;  ///< within the last hour, the newest first
  SharedBlocks<ShardStatus> shards;      ///< by number; empty: a relay does not know the group yet
  std::uint32_t failing = 0;  ///< the number of shards that this node leads and fails to activate
  /// The worst of these first, see WorseFailing. At most kMaxFailingListed.
  std::vector<ShardStatus> worst_failing;
  /// The number of shards that this node leads and has not tried to activate yet, because other
  /// activations fail here.
  std::uint32_t untried = 0;
  std::uint32_t stopping = 0;  ///< the number of shards that are stopping on this node
  std::vector<StoppingShard> longest_stopping;  ///< the longest first; at most kMaxStoppingListed
  std::uint32_t leaderless = 0;                 ///< shards that nobody leads
  std::uint32_t waiting = 0;                    ///< leaderless shards whose claims_wait is above 0
  std::uint32_t waiting_by_settings = 0;        ///< other leaderless shards with WaitsBySettings
  std::uint32_t nobody_may_lead = 0;            ///< how many have ShardStatus::nobody_may_lead
  std::uint32_t led_against_rules = 0;          ///< how many shards are led_against_rule
  std::uint32_t without_ready_standby = 0;      ///< how many shards are without_ready_standby
  /// For how long each status of this process has shown some shard without_ready_standby.
  Duration without_ready_standby_for{0};
  std::uint32_t standing_by = 0;   ///< for how many shards this node stands by
  std::uint32_t ready_here = 0;    ///< for how many of these it is ready
  std::vector<Transition> recent;  ///< the newest of the history, oldest first, at most 256
  NodeCounters counters;
};

struct TransferRequest {
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;  ///< kFailedPrecondition if the term is another one; unset: any term
  bool dry_run = false;         ///< here and below: checks the request, changes nothing
  std::string actor;            ///< here and below: who orders it, for records and logs
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
    kSetLimits
  };
  Verb verb = Verb::kPause;
  NodeId node;               ///< only for kDrain and kUndrain
  std::uint32_t number = 0;  ///< only for kSetExpectedNodes; 0: clears the setting
  LimitsChange limits = {};  ///< only for kSetLimits
  bool dry_run = false;
  std::string actor;
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Asks the leader of a failing shard to call its `acquired` again at once.
struct RetryRequest {
  ShardId shard;
  bool dry_run = false;
  std::string actor;
};

/// Changes how the group fails over, or its placement rules. An unset setting stays as it is.
struct GroupChangeRequest {
  std::optional<FailoverPolicy> failover = {};
  std::optional<std::chrono::milliseconds> delay = {};  ///< only with FailoverPolicy::kAfter
  std::optional<std::chrono::milliseconds> lock_delay = {};
  std::optional<Placement> placement = {};  ///< replaces all rules
  bool dry_run = false;
  std::string actor = {};
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Releases by force a shard whose last leader's session has ended. Then any node may claim the
/// shard.
struct ReleaseRequest {
  ShardId shard;
  bool dry_run = false;
  std::string actor = {};
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Changes weight and labels of a running node, which must be the one that is asked.
struct NodeChangeRequest {
  NodeId node;
  NodeChange change;
  bool dry_run = false;
  std::string actor = {};
};

/// Files of a process on which its security depends. Empty names are ignored.
struct SensitiveFiles {
  std::vector<std::string> secret = {};   ///< password and keys: only owner and group may read them
  std::vector<std::string> trusted = {};  ///< certificates, authorities: only the owner may write
};

/// Facts for an examination that the caller knows and the node does not know.
struct ExamineRequest {
  /// The limit on the series of shards that this process exports; unset: not known.
  std::optional<std::size_t> max_shard_series = {};
  SensitiveFiles files = {};
  std::shared_ptr<const ServerIdentity> tls = {};  ///< of this process's ports; null: none
  /// The addresses of this process's ports that other hosts may reach; unset: not known.
  std::optional<std::vector<std::string>> exposed = {};
};

class History;

/// Observes a node's events, for metrics. The node calls it on its loop, in order, so each method
/// must be quick, and must not throw. A relay makes only the call OnHalted.
class BATON_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  /// The node counts this transition.
  virtual void OnTransition(const Transition& transition) { (void)transition; }
  /// The node has halted: it has stopped for good. An observer that is added later gets this call
  /// at once.
  virtual void OnHalted(const Error& why) { (void)why; }
  /// `phase`: "prepare", "release" or "transfer".
  virtual void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) {
    (void)phase, (void)took;
  }
};

/// A node that leads shards, or stands by for them. All routes of one view that name it share this
/// object.
struct RouteNode {
  NodeId node;
  std::string address;  ///< its service address
};

/// A node that stands by for a shard.
struct ViewStandby {
  std::shared_ptr<const RouteNode> node;  ///< never null
  bool ready = false;                     ///< its application says that it could take over at once
  friend bool operator==(const ViewStandby&, const ViewStandby&) = default;
};

/// A shard's route as one view has it. Servers keep and send these. A Router turns the routes that
/// it receives into Route (baton/routes.h). Several threads may use the nodes of a ViewRoute: when
/// a member's address changes, later routes get another RouteNode, and the old one stays as it is.
struct ViewRoute {
  ShardId shard;
  std::shared_ptr<const RouteNode> leader;  ///< null: nobody leads
  Term term;                                ///< 0 if nobody leads
  ShardState state = ShardState::kLeaderless;
  /// The etcd revision from which the route is known. It never decreases. In every view, a change
  /// made at revision r gives the route a revision of at least r. So a caller that knows all routes
  /// up to revision r needs to ask only for routes with greater revisions. But a leader can enter
  /// and leave the states activating, suspended and moving without a new revision.
  Revision revision;
  /// The nodes that stand by, the first to take over first. Null: no node stands by.
  std::shared_ptr<const std::vector<ViewStandby>> standbys{};
};

/// Describes the group and the server of its routes. Only `incarnation` can change.
struct RouteGroup {
  std::string group;
  std::string server;  ///< the name of the node or relay
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  std::uint64_t incarnation = 0;  ///< revisions compare only within one: StoreIncarnationOf
};

struct RouteBatch {
  std::shared_ptr<const RouteGroup> group;  ///< never null
  std::vector<ViewRoute> routes;  ///< each changed shard once; in the first batch, all shards
  Revision revision;  ///< with this batch, the observer's routes are complete up to this revision
  TimePoint proven_at{};   ///< when the view was last proven to be current
  Duration stale_after{};  ///< if the proof is older than this, the view counts as stale
};

/// Observes a view's routes. The node calls it on its loop, in order, so each method must be quick,
/// and must not throw. RouteFeed says when a batch comes, and which routes it holds.
class BATON_EXPORT RouteObserver {
 public:
  virtual ~RouteObserver() = default;
  virtual void OnRoutes(const RouteBatch& batch) = 0;
  /// No batch follows, because the node or relay stops or has halted. Called at most once; on the
  /// caller's thread if the node had stopped before AddRouteObserver.
  virtual void OnRoutesEnded(const Error& why) = 0;
};

class BATON_EXPORT Control {
 public:
  virtual ~Control() = default;

  /// The handler gets a snapshot that is at most 50 ms old; never null. After the stop it shows no
  /// members and no shards; the counters are the last ones (a relay: 0).
  virtual void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) = 0;
  /// Whether the loop made a turn recently: within a third of the TTL, at least 400 ms; in a relay
  /// within 3 s. So it turns false soon after the stop. Lock-free.
  virtual bool Alive() const noexcept = 0;
  /// Whether the session is live and the view complete; false once the node halts or stops. A relay
  /// is ready from the first proof of a complete view until it halts or stops. Lock-free.
  virtual bool Ready() const noexcept = 0;
  /// The line that probes get while Ready() is true.
  virtual std::string ReadyWords() const { return "ready"; }
  /// What Node::Leadership returns; a relay never leads. Lock-free.
  virtual baton::Leadership LeadershipOf(ShardId shard) const noexcept = 0;

  // Operators' changes. A relay answers kUnimplemented. Common errors, besides those named below:
  //  - kUnavailable: the change is never made. The node stops, its view is not complete, too many
  //    changes wait, or the time `within` is over and no copy of the change can take effect.
  //  - kTimedOut: the change may still be made, now or later. The time `within` is over, or the
  //    node stopped first.
  //  - kFailedPrecondition: another change came first, or etcd denies the write.
  // `within` unset: the handler waits until the outcome is known.

  /// Starts an operator's move of one shard. The handler gets the move once it is written (or in a
  /// dry run: found possible), or an error. GetStatus shows how the move goes on. kNotFound: no
  /// such shard or node. kFailedPrecondition: the shard can't be moved there now. kUnavailable
  /// also: the node has no live session.
  virtual void Request(TransferRequest request, std::function<void(Result<MoveFact>)> handler) = 0;
  /// Calls the failing `acquired` of a shard that this node leads. Answers at once, with the number
  /// of attempts that failed before. kFailedPrecondition: the shard does not fail, can't be tried
  /// now, has no leader, or is led by another node. kUnavailable: no live session, or too many
  /// retries run. kNotFound: no such shard.
  virtual void Request(RetryRequest request,
                       std::function<void(Result<std::uint32_t>)> handler) = 0;
  /// Writes or deletes a policy. Idempotent. kNotFound: the node to drain is not in the group, or
  /// there is neither the node nor the drain to take back. A dry run checks only this.
  virtual void Request(PolicyRequest request, std::function<void(Status)> handler) = 0;
  /// Changes the group's failover settings or placement rules. A dry run finds out whether the
  /// change is possible. kInvalidArgument: the settings or rules make no sense.
  /// kFailedPrecondition: some member's version would not keep to them. Idempotent.
  virtual void Request(GroupChangeRequest request, std::function<void(Status)> handler) = 0;
  /// Changes this node's weight and labels, until its process ends. Answers at once; the group sees
  /// the change when etcd takes the node's record. Idempotent. kInvalidArgument: see SettingsAfter.
  /// kFailedPrecondition: the request names another node of the group. kNotFound: it names no node
  /// of the group. kUnavailable: the node stops.
  virtual void Request(NodeChangeRequest request,
                       std::function<void(Result<NodeChanged>)> handler) = 0;
  /// Releases by force a shard whose last leader's session has ended. A dry run finds out whether
  /// that is possible. kFailedPrecondition: the session lives, any node may claim the shard
  /// already, the record is of a newer version, or the nodes will replace the damaged record. Under
  /// FailoverPolicy::kNever only a living last leader replaces it; without one, the shard can be
  /// released once no leader can be alive. kNotFound: no such shard.
  virtual void Request(ReleaseRequest request, std::function<void(Status)> handler) = 0;
  /// The moves that the balancer would make now if there were no delays, cooldowns or limits. The
  /// handler may block, unless it runs before the call returns. kUnavailable: the view is not
  /// complete, the node does not answer or has stopped, too many requests wait, or the host lacks
  /// threads. kUnimplemented: a relay.
  virtual void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) = 0;

  /// Writes to the node's log, without waiting for it. After the node has stopped, the record may
  /// be lost. By default: the process's log.
  virtual void Log(LogLevel level, std::string_view message, log::Fields fields) {
    log::Write(level, message, fields);
  }

  /// The events that this node saw; null: the node keeps no history. The history is thread-safe.
  virtual std::shared_ptr<const History> history() const { return nullptr; }

  /// Examines the node, its etcd and its group. This takes seconds if etcd is away. The handler may
  /// block, unless it runs before the call returns. kUnavailable: the node stops, too many requests
  /// wait, or the host lacks threads. kUnimplemented: this process can't be examined.
  virtual void Examine(ExamineRequest request, std::function<void(Result<Diagnosis>)> handler) {
    (void)request;
    handler(Error{ErrorCode::kUnimplemented, "this process can't be examined"});
  }

  /// Adds an observer, and keeps it until the node ends. It gets the events that later calls here
  /// cause, but perhaps not those of earlier calls. A stopped node ignores the observer.
  virtual void AddObserver(std::shared_ptr<Observer> observer) = 0;
  /// Adds an observer of routes, and keeps it until its OnRoutesEnded. The first batch comes when
  /// the view is complete. If the node has halted or stopped, only OnRoutesEnded is called. Without
  /// observers, routes cost nothing.
  virtual void AddRouteObserver(std::shared_ptr<RouteObserver> observer) = 0;
  /// The durations of calls to etcd so far, in seconds. The bounds are inclusive.
  struct CallStats {
    static constexpr double kBounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,   0.1,   0.25,   0.5,   1,    2.5};
    std::uint64_t count = 0;
    double sum = 0;
    std::uint64_t buckets[std::size(kBounds) + 1] = {};  ///< not cumulative; last: above all bounds
  };
  /// By (method, name of the gRPC code).
  virtual std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const = 0;
  /// The guard that the node shall have. Nullopt: it shall have none, or somebody else starts one.
  virtual std::optional<GuardCounters> Guard() const { return std::nullopt; }
};

}  // namespace baton::runtime
