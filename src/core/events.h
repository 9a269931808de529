// Events: what goes into the core. Actions: what comes out of it.
//
// An Event is something that happened: news from etcd, a request, or only that time passed. An
// Action is something that the runtime must do now; the runtime does the actions of a step in the
// order given. An answer carries the number of its operation. If the core does not wait for this
// operation any more, it still takes over the facts and the revision in the answer, and ignores the
// rest. So late and repeated events do no harm.
//
// Plain values; the runtime's loop thread passes them.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/node_change.h"
#include "base/writes.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton::core {

/// Numbers what the core asks for: from 1, ascending, never used twice by one core. 0: no
/// operation.
using OperationId = std::uint64_t;
/// Numbers a request of an operator or of the embedding program. Each request is answered exactly
/// once. The caller chooses the number; the core only returns it.
using RequestId = std::uint64_t;

// ---- events ------------------------------------------------------------------------------------

/// A read of everything below the group's prefix. The runtime delivers such a read at the start and
/// after an AuditView. It also does so if etcd has compacted the revision at which the watch had to
/// go on, or if the watch got a message of another etcd cluster.
struct SnapshotRead {
  Snapshot snapshot;
  std::uint64_t cluster_id = 0;  ///< of the etcd that answered; 0: not known
};
/// The watch delivered these changes.
struct ChangesSeen {
  Changes changes;
};
/// Every change up to this revision was delivered to the core.
struct WatchProven {
  Revision revision;
};
/// The answer to an AskRevision.
struct RevisionAnswered {
  Revision known;     ///< as in the AskRevision
  Revision revision;  ///< which the store had when etcd answered
};
struct LeaseGranted {
  OperationId operation = 0;
  Outcome outcome = Outcome::kUnknown;
  std::chrono::seconds ttl{0};  ///< if done: the TTL that etcd granted, above 0
  std::string detail;           ///< if not done: why, in one line
};
struct LeaseRevoked {
  OperationId operation = 0;
  /// kRefused: the lease does not exist, or etcd denies its revocation, which is not tried again.
  Outcome outcome = Outcome::kUnknown;
};
struct KeepAliveAnswered {
  OperationId operation = 0;
  std::chrono::seconds ttl{0};  ///< as the answer says; 0: the lease does not exist any more
  std::uint64_t raft_term = 0;
};
/// The stream of keepalives ended, or the send failed. `operation` is the last keepalive that was
/// sent on this stream. If it has no answer yet, it gets none.
struct KeepAliveEnded {
  OperationId operation = 0;
};
struct ConfirmAnswered {
  OperationId operation = 0;
  Outcome outcome = Outcome::kUnknown;
  bool passed = false;  ///< whether our member key is still our session's; false if not done
  Revision revision;    ///< at which the confirmation committed, if done
  std::uint64_t raft_term = 0;
  std::vector<Fact> read_back;  ///< the member key, if done and `passed` is false
};
/// The answer to a SubmitWrite; each copy of a write gets one.
struct WriteAnswered {
  OperationId operation = 0;
  WriteResult result;
};
/// A callback returned. `ok` is false if it threw, or if an external application says that it
/// failed.
struct CallbackReturned {
  OperationId operation = 0;
  ShardId shard;
  bool ok = true;
  std::string error = {};  ///< one line; empty if `ok`
};
/// An operator asks for a move of a shard. The answer is AnswerTransfer, with the move as it was
/// written, or with an error. With `dry_run` nothing is written, and the move's revision is 0.
struct TransferRequested {
  RequestId request = 0;
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;  ///< refuse if the shard's term is another one; unset: any term
  bool dry_run = false;
  std::string actor;
  TimePoint answer_by = TimePoint::max();  ///< see OperatorRequests
};
/// An operator asks to set or delete a policy. With `dry_run` nothing is written. The answer is
/// AnswerChange.
struct PolicyRequested {
  RequestId request = 0;
  PolicyName name;      ///< any kind but kChanged
  bool present = true;  ///< false: delete the policy; no effect on kLimits
  std::string actor;
  TimePoint answer_by = TimePoint::max();  ///< see OperatorRequests
  std::uint32_t number = 0;                ///< the value of kExpectedNodes
  LimitsChange limits = {};                ///< of kLimits
  bool dry_run = false;
};
/// An operator asks this node to call a failing `acquired` at once. With `dry_run` the node only
/// checks whether it could. The answer is AnswerRetry.
struct RetryRequested {
  RequestId request = 0;
  ShardId shard;
  bool dry_run = false;
  std::string actor;
};
/// An operator asks for other settings of the group. An unset setting stays as it is. With
/// `dry_run` nothing is written. The answer is AnswerChange.
struct GroupChangeRequested {
  RequestId request = 0;
  std::optional<FailoverPolicy> failover = {};
  /// 1 s to 24 h, and longer than the lock delay. Must be set if this change makes the policy
  /// kAfter. Must not be set if the policy is not kAfter after this change; then the group has no
  /// delay any more.
  std::optional<std::chrono::milliseconds> delay = {};
  std::optional<std::chrono::milliseconds> lock_delay = {};  ///< 0 to 1 h
  std::optional<Placement> placement = {};                   ///< replaces all rules
  bool dry_run = false;
  std::string actor;
  TimePoint answer_by = TimePoint::max();  ///< see OperatorRequests
};
/// An operator asks this node to release a shard by force. After the release any node may claim the
/// shard. The shard must be kept for a node whose session has ended, or its record must be damaged:
/// see force_release.h. With `dry_run` nothing is written. The answer is AnswerChange.
struct ReleaseRequested {
  RequestId request = 0;
  ShardId shard;
  bool dry_run = false;
  std::string actor;
  TimePoint answer_by = TimePoint::max();  ///< see OperatorRequests
};
/// An operator asks for other settings of a node, which must be this one. With `dry_run` nothing
/// changes. The answer is AnswerNodeChange.
struct NodeChangeRequested {
  RequestId request = 0;
  NodeId node;
  NodeChange change;
  bool dry_run = false;
  std::string actor;
};
/// Whether this node can reach the application that acts on its leaderships. The application is
/// another process, or it is this process and a watchdog watches it (then never kDetached). Any
/// other application is always kAttached.
enum class ApplicationState : std::uint8_t {
  /// The application acts on nothing. Its process is proven dead, its last deadline from the node
  /// has passed, or it gave no sign of life in time. This node leads nothing until an application
  /// is attached. The first state if the application is another process.
  kAbsent,
  /// The process may act until the last deadline that the node sent it, but the node can't reach
  /// it. So the node gives away nothing that the process may hold, and takes nothing new.
  kDetached,
  /// The node can reach the application. The first state if the application is this process.
  kAttached,
};
struct ApplicationChanged {
  ApplicationState state = ApplicationState::kAbsent;
};
/// The application says whether it can work on shards. While it is not healthy, other nodes take
/// its shards, and this node stays a member.
struct HealthChanged {
  bool healthy = true;
};
/// The application says whether it could at once serve a shard for which this node stands by.
/// Ignored if `operation` is not that of the present standby.
struct StandbyReadySaid {
  OperationId operation = 0;  ///< of the kStandby callback that began the standby
  ShardId shard;
  bool ready = true;
};
/// The application says this of one or more shards.
struct StandbysReadySaid {
  std::vector<StandbyReadySaid> words;
};
/// Give everything away and leave: Finished follows. After CoreOptions::drain_timeout the node
/// resigns the shards that are left. It resigns them at once if none of them may go to another node
/// that does not drain, or if the failover policy keeps them for this node. If resignations make no
/// progress for 5 s, the node ends its session all the same. If the node has no session, it ends at
/// once. A second DrainRequested does nothing.
struct DrainRequested {};
/// Leave at once, also during a drain. The node resigns as many shards as may be in flight at once,
/// and ends its session without waiting for the answers. It waits in two cases only:
///  - An external application runs `acquired` or `releasing` already. Then the node also asks it to
///    release the other shards. The node waits for each of these callbacks until its timeout, and
///    then for the resignations.
///  - The node was draining, and holds fewer shards than when the drain last resigned some.
///
/// In both cases the node ends the session all the same after 5 s in which no callback ran and no
/// resignation made progress. If an external application may still act on shards when the session
/// ends, the lease is left to expire.
struct StopRequested {};
/// Nothing happened but time passing.
struct Tick {};

using Event =
    std::variant<SnapshotRead, ChangesSeen, WatchProven, RevisionAnswered, LeaseGranted,
                 LeaseRevoked, KeepAliveAnswered, KeepAliveEnded, ConfirmAnswered, WriteAnswered,
                 CallbackReturned, TransferRequested, PolicyRequested, RetryRequested,
                 GroupChangeRequested, ReleaseRequested, NodeChangeRequested, ApplicationChanged,
                 HealthChanged, StandbysReadySaid, DrainRequested, StopRequested, Tick>;

// ---- actions -----------------------------------------------------------------------------------

/// The answer is LeaseGranted.
struct GrantLease {
  OperationId operation = 0;
  SessionId lease;
  std::chrono::seconds ttl{0};
};
/// The answer is LeaseRevoked.
struct RevokeLease {
  OperationId operation = 0;
  SessionId lease;
};
/// Write the session into the state directory's lock. This action comes before the action that puts
/// the session's member key.
struct RecordSession {
  SessionId session;
  SessionId replaces;     ///< the dead session that holds the member key until then; 0: no session
  bool external = false;  ///< another process acts on the shards that the session leads
};
/// The answer is KeepAliveAnswered or KeepAliveEnded.
struct SendKeepAlive {
  OperationId operation = 0;
  SessionId lease;
  bool fresh_stream = false;  ///< end the present stream first, and open one to another endpoint
};
/// Prove by a commit that the session's member key is there. The answer is ConfirmAnswered.
struct ConfirmSession {
  OperationId operation = 0;
  SessionGuard guard;
  /// An earlier confirmation is unanswered: use another endpoint than the present one.
  bool elsewhere = false;
};
/// Send a write to etcd; the answer is WriteAnswered.
struct SubmitWrite {
  OperationId operation = 0;
  std::shared_ptr<const Write> write;  ///< later copies share it; never null
  /// Unset: this is the first copy. Set: an answer to an earlier copy left items unknown, and these
  /// are the outcomes of all items in that answer. The runtime must then send only the items that
  /// are unknown or missing here.
  std::optional<std::vector<Outcome>> earlier = {};
};
/// Ask the watch for its progress until it has delivered every change up to this revision. Each
/// proof is a WatchProven.
struct ProbeWatch {
  Revision required;
};
/// Ask etcd by a linearizable read which revision the store has. The answer is RevisionAnswered. If
/// the read fails, there is no answer.
struct AskRevision {
  Revision known;  ///< every change up to this revision is known; the answer has it, too
};
/// The watch stands still: open it on another endpoint.
struct ReopenWatch {};
/// Read the whole prefix once more and deliver it as SnapshotRead, while the watch goes on. If a
/// read of everything is under way already, no other one is needed.
struct AuditView {};

/// Sets the answer of Leads() for this shard. It must take effect before the next action.
struct SetLeadership {
  ShardId shard;
  Term term;               ///< 0: not led
  bool activated = false;  ///< the last `acquired` has succeeded, or there is no listener
};
/// Sets the time until which Leads() may answer true. With TimePoint::min(), Leads() must answer
/// false from now on.
struct SetDeadline {
  TimePoint deadline;
};
enum class CallbackKind : std::uint8_t {
  kPrepare,
  kAcquired,
  kReleasing,
  kLost,
  kSuspended,
  kResumed,
  kStandby,       ///< the node stands by for the shard; no result is awaited
  kStandbyEnded,  ///< the node stands by no longer, and does not lead; no result is awaited
};
const char* ToString(CallbackKind kind);
/// Whether a callback of this kind is about a standby. The core awaits no result of such a
/// callback, and gets none.
constexpr bool IsOfStandby(CallbackKind kind) {
  return kind == CallbackKind::kStandby || kind == CallbackKind::kStandbyEnded;
}
/// Queue a callback of the application. The answer is CallbackReturned. The core ignores the
/// answers to kSuspended and kResumed. Callbacks of standbys (IsOfStandby) get no answer.
struct RunCallback {
  OperationId operation = 0;
  ShardId shard;
  CallbackKind kind = CallbackKind::kAcquired;
  /// kPrepare: the term of the leadership that the move ends. kStandby: the term of the shard's
  /// present record. kStandbyEnded: 0. Other kinds: the term of this node's leadership.
  Term term;
  Reason reason = Reason::kStartup;  ///< for the application; no meaning for callbacks of standbys
};
/// A value on the heap, shared by its copies. A step may have tens of thousands of actions, so a
/// large and rare action must not set the size of all.
template <typename T>
class Boxed {
 public:
  template <typename Value>
  requires(!std::same_as<std::remove_cvref_t<Value>, Boxed> && std::constructible_from<T, Value>)
      Boxed(Value&& value)
      : value_(std::make_shared<const T>(std::forward<Value>(value))) {}

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  operator const T&() const { return *value_; }

 private:
  std::shared_ptr<const T> value_;
};
/// A change of leadership that this node counts and reports.
struct ReportTransition {
  Boxed<Transition> transition;
};
/// A change of leadership that this node only sees: another node counts it. Its `elect` is how long
/// this node's view showed no leader; 0 if the view showed no such time. Its `detect_at_most` is
/// the bound that this node knows. Its `activate` is 0, because this node does not know it.
struct SeeTransition {
  Boxed<Transition> transition;
};
/// A phase of a handoff is over:
///  - "prepare", reported by the target: from its start until `prepared` is sent.
///  - "release", reported by the leader: how long `releasing` ran; also before a resignation.
///  - "transfer", reported by the leader: from the sending of the transfer until the leader sees
///    that it has lost the shard.
struct ReportHandoffPhase {
  const char* phase = "";  ///< static text
  Duration took{0};
};
/// A line for the log: something an operator should know.
struct Notice {
  enum class Level : std::uint8_t { kInfo, kWarning, kError };
  Level level = Level::kInfo;
  std::string text;
};
/// This node stops for good. Earlier actions of the same step ended all leaderships. Comes at most
/// once, perhaps after Finished.
struct HaltNode {
  Error why;
};
/// The drain or the stop is over, or a halted node has ended its session. Comes at most once.
struct Finished {
  bool drained = false;  ///< every shard was handed over or resigned in time; never if halted
  /// The lease was perhaps not revoked; then it expires by itself. Also true if the node has not
  /// read its group.
  bool lease_left = false;
};
struct AnswerTransfer {
  RequestId request = 0;
  Boxed<Result<MoveFact>> result;
};
/// Answers PolicyRequested, GroupChangeRequested and ReleaseRequested.
struct AnswerChange {
  RequestId request = 0;
  Status result;
};
/// How many attempts of the shard have failed so far. An error says why its `acquired` can't be
/// called now.
struct AnswerRetry {
  RequestId request = 0;
  Result<std::uint32_t> result;
};
/// This node has other settings from now on, and will say so in its member record.
struct ReportNodeChange {
  std::string change;  ///< in words: "set n3 weight 2, label disk=ssd"
  std::string actor;
};
struct AnswerNodeChange {
  RequestId request = 0;
  Boxed<Result<NodeChanged>> result;
};

using Action =
    std::variant<GrantLease, RevokeLease, RecordSession, SendKeepAlive, ConfirmSession, SubmitWrite,
                 ProbeWatch, AskRevision, ReopenWatch, AuditView, SetLeadership, SetDeadline,
                 RunCallback, ReportTransition, SeeTransition, ReportHandoffPhase, Notice, HaltNode,
                 Finished, AnswerTransfer, AnswerChange, AnswerRetry, ReportNodeChange,
                 AnswerNodeChange>;

/// The result of one step.
struct Output {
  std::vector<Action> actions;  ///< to be done in this order
  /// Step again then, with a Tick, or earlier if an event comes. Max: only when an event comes.
  TimePoint wake_at = TimePoint::max();
};

}  // namespace baton::core
