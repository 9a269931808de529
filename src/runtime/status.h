// NodeStatus and its parts: what a node or relay knows of itself and its group at one moment. Plain
// values. "The node" below is also a relay, unless a comment says otherwise.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "baton/result.h"
#include "baton/types.h"
#include "runtime/node_counters.h"
#include "runtime/shared_blocks.h"

namespace baton::runtime {

class StatusAssignment;

/// The state of the node's own session, as one word.
enum class SessionPhase : std::uint8_t {
  kOpening,    ///< no session, or the present session had no confirmed renewal yet
  kLive,       ///< renewals are confirmed
  kSuspended,  ///< the local deadline has passed; the lease may still be alive
  kDraining,   ///< the node was asked to drain or stop, and has not ended yet
  kEnded,      ///< the node has drained or stopped, or the relay has stopped
  kHalted,     ///< a node (no relay) has stopped for good, see NodeStatus::halted
  kRelay,      ///< a relay until it has stopped, even if it has halted; it has no session
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
  std::uint32_t led = 0;  ///< how many shards the node leads
  /// How many shards the node should lead by the assignment. Set only in a status that came over
  /// gRPC. NodeStatus::TargetOf works with every status.
  std::uint32_t told_target = 0;
  /// How many of the `led` shards are suspended. A node knows this only of itself: 0 for others.
  std::uint32_t suspended = 0;

  /// Whether the node gives its shards away: an operator drains it, or it stops.
  bool Draining() const { return drained_by_policy || fact.state == MemberState::kDraining; }
};

/// Whether the node is live, has a weight above 0, and is not draining. Ignores placement rules,
/// and whether the node gets no shards for now (NodesThatGetNothing in core/may_claim.h).
bool MayBeginToLead(const MemberStatus& member);

/// A member that left within the last hour, as the answering process saw it: see core::Departure.
struct DepartedMember {
  NodeId node;
  SessionId session;
  std::chrono::nanoseconds age{0};  ///< the time since that process saw the member leave
  std::optional<Reason> why = {};   ///< unset: not known
  std::uint32_t led = 0;            ///< how many shards the member led at the end
  bool back = false;                ///< the node has a session again
};

/// The failures of a shard's `acquired`. The leader calls `acquired` again and again. Only the
/// leader knows the failures.
struct FailingActivation {
  std::uint32_t attempts = 0;          ///< how many failed since the leader gained the shard
  std::chrono::nanoseconds lasted{0};  ///< the time since the first attempt failed
  std::string last_error;              ///< one line, of at most 256 bytes and "..."
};

/// A node that stands by for a shard.
struct StandbyStatus {
  NodeId node;
  std::string address;  ///< the node's service address
  bool ready = false;   ///< its application says that it could take over at once
  friend auto operator<=>(const StandbyStatus&, const StandbyStatus&) = default;
};

struct ShardStatus {
  ShardId shard;
  NodeId leader;        ///< empty: nobody leads
  std::string address;  ///< the leader's service address
  Term term;            ///< 0 if nobody leads
  ShardState state = ShardState::kLeaderless;
  Reason reason = Reason::kStartup;      ///< why this leader leads, or why nobody leads
  Cause cause;                           ///< why this leader got the shard; no leader: kUnknown
  NodeId previous;                       ///< the leader before; if nobody leads, the last leader
  std::shared_ptr<const MoveFact> move;  ///< null unless the move is live; few shards have one
  bool quarantined = false;              ///< the shard's record can't be read
  std::optional<FailingActivation> failing;  ///< set only on the leader itself
  /// How many deaths of leaders in a row count against the shard (core::DeathBackoff). 0 once the
  /// shard was led for core::kShortLeadership without another death.
  std::uint32_t deaths = 0;
  /// For how long these deaths keep everybody from claiming the shard. If it is not known yet
  /// whether the last leader's session has ended: for how long after that end.
  std::chrono::nanoseconds claims_wait{0};
  /// If nobody leads the shard: the node for which the failover settings keep it. Other nodes may
  /// not claim the shard before `others_from`. Empty: the settings keep the shard for no node.
  NodeId waits_for;
  /// `waits_for` is live, but does not have the state directory with which it led the shard.
  bool waits_for_directory = false;
  /// The time from which nodes other than `waits_for` may claim the shard; it may have passed.
  /// Unset: never, not known, or `waits_for` is empty. By the clock of NodeStatus::at.
  std::optional<TimePoint> others_from;
  /// If nobody leads the shard: until when the lock delay keeps everybody from claiming it; this
  /// time may have passed. Unset: the delay does not keep the shard, or the time is not known. By
  /// the clock of NodeStatus::at.
  std::optional<TimePoint> locked_until;
  std::uint32_t rule = 0;  ///< the number of the shard's placement rule, from 1; 0: no rule
  /// Nobody leads the shard, and its rule lets no live node of a weight above 0 lead it.
  bool nobody_may_lead = false;
  bool led_against_rule = false;       ///< its rule does not allow its leader
  bool without_ready_standby = false;  ///< its rule asks for standbys, and no standby is ready
  /// The standbys in the order in which they would take over; null: no standbys.
  std::shared_ptr<const std::vector<StandbyStatus>> standbys;
};

/// How long the lock delay still keeps everybody from claiming the shard. 0: the delay does not
/// keep the shard, or the time is not known.
inline std::chrono::nanoseconds LockWait(const ShardStatus& shard, TimePoint at) {
  if (!shard.locked_until || *shard.locked_until <= at) return std::chrono::nanoseconds{0};
  return *shard.locked_until - at;
}
/// How long it takes until nodes other than the shard's `waits_for` may claim the shard; 0: they
/// may claim it now. Unset: never, not known, or the shard waits for no node.
inline std::optional<std::chrono::nanoseconds> OthersWait(const ShardStatus& shard, TimePoint at) {
  if (shard.waits_for.empty() || !shard.others_from) return std::nullopt;
  return std::max<std::chrono::nanoseconds>(*shard.others_from - at, std::chrono::nanoseconds{0});
}
/// Whether the shard has `waits_for`, or LockWait is above 0. As long as the shard has `waits_for`,
/// true even after `others_from`.
inline bool WaitsBySettings(const ShardStatus& shard, TimePoint at) {
  return !shard.waits_for.empty() || LockWait(shard, at).count() > 0;
}

/// Orders failing shards: by the number of failed attempts, the greatest first; then by the time
/// since the first failure, the longest first; then by number. REQUIRES: both shards have
/// `failing`.
inline bool WorseFailing(const ShardStatus& left, const ShardStatus& right) {
  return std::tuple(right.failing->attempts, right.failing->lasted, left.shard) <
         std::tuple(left.failing->attempts, left.failing->lasted, right.shard);
}

/// The most shards in NodeStatus::worst_failing. The count `failing` has no bound.
inline constexpr std::size_t kMaxFailingListed = 100;
/// The most shards in NodeStatus::longest_stopping. This is also the most callbacks of a Listener
/// that run at once. The count `stopping` has no bound: it includes shards whose `lost` waits for a
/// thread.
inline constexpr std::size_t kMaxStoppingListed = 256;

/// A shard whose leadership on this node ended more than callback_timeout ago, and whose `lost` has
/// not returned yet.
struct StoppingShard {
  ShardId shard;
  Duration lasted{};  ///< the time since the leadership ended
};
/// Orders stopping shards: by `lasted`, the longest first; then by number.
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
  std::optional<Error> halted;  ///< why the node has stopped for good; unset: it has not halted
  bool ready = false;           ///< see Control::Ready
  std::string not_ready;        ///< why the node is not ready, in one line; empty if ready
  /// When the snapshot was made, by this process's clock. TimePoint{}: the node has stopped, or a
  /// relay does not know the group yet.
  TimePoint at{};
  Revision revision;  ///< the view's; a complete view has all changes up to this revision
  /// The time since the view was last proven to be current; 0: the view is not complete yet.
  std::chrono::nanoseconds view_age{0};
  /// `view_age` is longer than the TTL (a relay: 10 s). Then the facts about other nodes may be out
  /// of date. But each node always knows what it leads itself.
  bool stale = false;
  /// The time since the last confirmed renewal was sent, in this session or an earlier one; 0: no
  /// renewal was confirmed yet.
  std::chrono::nanoseconds renewal_age{0};
  /// The lease time that etcd granted or confirmed last. Before the first grant: the time that the
  /// node asks for. 0: a relay, or the node has stopped.
  std::chrono::milliseconds ttl{0};
  NodeId balancer;  ///< empty: no node
  bool paused = false;
  bool rebalance_requested = false;  ///< an operator's "apply" is being carried out
  bool braking = false;              ///< no vacancies are filled: too many members vanished at once
  std::uint32_t expected_nodes = 0;  ///< how many nodes an operator expects; 0: not set
  std::uint32_t max_moves = 0;       ///< an operator's limit of moves in flight; 0: not set
  // An operator's settings for planned moves (PolicyKind::kLimits). Unset: each node's own option.
  std::optional<std::chrono::milliseconds> rebalance_delay = {};
  std::optional<std::chrono::milliseconds> cooldown = {};
  FailoverSettings failover;        ///< the group's; the defaults before its config is known
  Placement placement;              ///< the group's rules; none before its config is known
  std::uint32_t config_schema = 0;  ///< of the group's config; 0: not known
  /// Null: the view is not complete yet, the node has stopped, or another process answered.
  std::shared_ptr<const StatusAssignment> assignment;
  /// By id, including members that are not live. Empty until the view is complete.
  std::vector<MemberStatus> members;
  std::vector<DepartedMember> departed;  ///< within the last hour, the newest first
  /// By number. Empty: the node has stopped, or a relay does not know the group yet.
  SharedBlocks<ShardStatus> shards;
  std::uint32_t failing = 0;  ///< how many shards this node leads and fails to activate
  /// The worst of these shards, in the order of WorseFailing. At most kMaxFailingListed.
  std::vector<ShardStatus> worst_failing;
  /// How many shards this node leads and has not tried to activate yet, because other activations
  /// fail here.
  std::uint32_t untried = 0;
  std::uint32_t stopping = 0;                   ///< how many StoppingShards this node has
  std::vector<StoppingShard> longest_stopping;  ///< the longest first; at most kMaxStoppingListed
  std::uint32_t leaderless = 0;                 ///< how many shards nobody leads
  std::uint32_t waiting = 0;                    ///< how many of these have a claims_wait above 0
  std::uint32_t waiting_by_settings = 0;        ///< how many of the others have WaitsBySettings
  std::uint32_t nobody_may_lead = 0;            ///< how many shards have nobody_may_lead
  std::uint32_t led_against_rules = 0;          ///< how many shards are led_against_rule
  std::uint32_t without_ready_standby = 0;      ///< how many shards are without_ready_standby
  /// How long this process's statuses have shown shards without_ready_standby, without a break. 0
  /// if this status is the first of them, or shows no such shard.
  Duration without_ready_standby_for{0};
  std::uint32_t standing_by = 0;   ///< for how many shards this node stands by
  std::uint32_t ready_here = 0;    ///< for how many of these shards its application is ready
  std::vector<Transition> recent;  ///< the newest 256 transitions of the history, oldest first
  NodeCounters counters;

  /// How many shards one of `members` should lead by the assignment. 0 if the member gets no shards
  /// for now. Thread-safe. The first call for an assignment of this process takes O(shards), and
  /// other threads wait for that call (StatusAssignment::TargetOf).
  std::uint32_t TargetOf(const MemberStatus& member) const;
};

}  // namespace baton::runtime
