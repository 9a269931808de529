// Events: what goes into the core. Actions: what comes out of it.
//
// An event is something that happened: news from etcd, a request, or time that passed. An action is
// something that the runtime must do now. The runtime does the actions of a step in their order. An
// event that answers an action has the action's operation number. If the core does not wait for
// this operation any more, the core uses the facts and the revision in the answer, and nothing
// else. So late and repeated events do no harm.
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

/// The number of something that the core asks for. The numbers begin at 1 and ascend, and one core
/// never uses a number twice. 0: no operation.
using OperationId = std::uint64_t;
/// The number of a request of an operator or of the embedding program. Each request is answered
/// exactly once. The caller chooses the number, and the answer has the same number.
using RequestId = std::uint64_t;

// ---- events ------------------------------------------------------------------------------------

/// A read of everything below the group's prefix. The runtime delivers a SnapshotRead at the start,
/// and after an AuditView. It delivers another one if etcd has compacted the revision at which the
/// watch had to go on, or if another etcd cluster answered the watch.
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
  Revision revision;  ///< the store's, when etcd answered
};
struct LeaseGranted {
  OperationId operation = 0;
  Outcome outcome = Outcome::kUnknown;
  std::chrono::seconds ttl{0};  ///< if done: the TTL that etcd granted, above 0
  std::string detail;           ///< if not done: why, in one line
};
struct LeaseRevoked {
  OperationId operation = 0;
  /// kRefused: the lease does not exist, or etcd refuses to revoke it. The core does not try again.
  Outcome outcome = Outcome::kUnknown;
};
struct KeepAliveAnswered {
  OperationId operation = 0;
  std::chrono::seconds ttl{0};  ///< as the answer says; 0: the lease does not exist any more
  std::uint64_t raft_term = 0;
};
/// The stream of keepalives ended, or the send failed. `operation` is the last keepalive that was
/// sent on this stream. If that keepalive is unanswered, no answer will come.
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
/// A callback returned. `ok` is false if the callback threw, or if an external application says
/// that the callback failed.
struct CallbackReturned {
  OperationId operation = 0;
  ShardId shard;
  bool ok = true;
  std::string error = {};  ///< one line; empty if `ok`
};
/// An operator asks for a move of a shard. The answer is AnswerTransfer, with the written move or
/// an error. With `dry_run` nothing is written, and the move's revision is 0.
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
/// An operator asks this node to call a failing `acquired` at once. With `dry_run` the node checks
/// whether that is possible, and calls nothing. The answer is AnswerRetry.
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
  /// 1 s to 24 h, and longer than the lock delay. Must be set if this change turns kAfter on. Must
  /// be unset if the policy is not kAfter after this change: then the group has no delay.
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
/// Whether this node can reach the application that acts on its leaderships. An application in this
/// process is kAttached, or kAbsent while a watchdog finds no sign of life.
enum class ApplicationState : std::uint8_t {
  /// The application acts on nothing. Its process is proven dead, its last deadline from the node
  /// has passed, or it gave no sign of life in time. This node leads nothing until an application
  /// is attached. The first state if the application is another process.
  kAbsent,
  /// The node can't reach the application's process, which may act until the last deadline that the
  /// node sent. So the node gives away no shard that the process may hold, and takes no new shard.
  kDetached,
  /// The node can reach the application. The first state if the application is this process.
  kAttached,
};
struct ApplicationChanged {
  ApplicationState state = ApplicationState::kAbsent;
};
/// The application says whether it can work on shards. While it can't, other nodes take this node's
/// shards, and this node stays a member.
struct HealthChanged {
  bool healthy = true;
};
/// The application says whether it could at once serve a shard for which this node stands by. The
/// core ignores this event if `operation` does not belong to the present standby of the shard.
struct StandbyReadySaid {
  OperationId operation = 0;  ///< of the kStandby callback that began the standby
  ShardId shard;
  bool ready = true;
};
/// One event for one or more StandbyReadySaid.
struct StandbysReadySaid {
  std::vector<StandbyReadySaid> words;
};
/// Give all shards away and leave; Finished follows. The node resigns the shards that are left once
/// CoreOptions::drain_timeout has passed. It resigns them at once if no other node can take them (a
/// draining node can't), or if the failover policy keeps them for this node. If resignations make
/// no progress for 5 s, the node ends its session with the shards that are left. If the node has no
/// session, it finishes without a wait for shards. A second DrainRequested does nothing.
struct DrainRequested {};
/// Leave at once, even during a drain. The node resigns as many shards as may be in flight at once,
/// and ends its session without a wait for the answers. In two cases it waits for the answers:
///  - An external application runs `acquired` or `releasing` already. Then the node asks the
///    application to release the other shards, too, and resigns each shard once the shard's
///    callbacks have returned or timed out.
///  - The node was draining, and holds fewer shards than when the drain last resigned some.
///
/// The wait ends after 5 s in which no callback ran and no resignation made progress. If an
/// external application may still act on shards when the session ends, the lease is left to expire.
struct StopRequested {};
/// Time passed, and nothing else happened.
struct Tick {};

using Event =
    std::variant<SnapshotRead, ChangesSeen, WatchProven, RevisionAnswered, LeaseGranted,
                 LeaseRevoked, KeepAliveAnswered, KeepAliveEnded, ConfirmAnswered, WriteAnswered,
                 CallbackReturned, TransferRequested, PolicyRequested, RetryRequested,
                 GroupChangeRequested, ReleaseRequested, NodeChangeRequested, ApplicationChanged,
                 HealthChanged, StandbysReadySaid, DrainRequested, StopRequested, Tick>;

// ---- actions -----------------------------------------------------------------------------------

/// Grant this lease. The answer is LeaseGranted.
struct GrantLease {
  OperationId operation = 0;
  SessionId lease;
  std::chrono::seconds ttl{0};
};
/// Revoke this lease. The answer is LeaseRevoked.
struct RevokeLease {
  OperationId operation = 0;
  SessionId lease;
};
/// Write the session into the lock file of the state directory. This action comes before the action
/// that puts the session's member key.
struct RecordSession {
  SessionId session;
  SessionId replaces;     ///< the dead session that holds the member key now; 0: no session does
  bool external = false;  ///< another process acts on the shards that the session leads
};
/// Send a keepalive. The answer is KeepAliveAnswered or KeepAliveEnded.
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
  /// Unset: the runtime must send all items. Set: an answer to an earlier copy left some items
  /// unknown, and gave these outcomes. The runtime must send only the items that are unknown or
  /// missing here.
  std::optional<std::vector<Outcome>> earlier = {};
};
/// Ask for the watch's progress until the watch has delivered every change up to this revision.
/// Each answer of the watch is a WatchProven.
struct ProbeWatch {
  Revision required;
};
/// Ask etcd by a linearizable read which revision the store has. The answer is RevisionAnswered. If
/// the read fails, no answer comes.
struct AskRevision {
  Revision known;  ///< the node knows every change up to this revision; the answer repeats it
};
/// The watch stands still: open it on another endpoint.
struct ReopenWatch {};
/// Read everything below the group's prefix again, and deliver a SnapshotRead. The watch goes on
/// meanwhile. If such a read is under way already, the runtime need not begin another one.
struct AuditView {};

/// Set the answer of Leads() for this shard. The new answer must hold before the runtime does the
/// next action.
struct SetLeadership {
  ShardId shard;
  Term term;               ///< 0: not led
  bool activated = false;  ///< the last `acquired` has succeeded, or there is no listener
};
/// Set the time until which Leads() may answer true. TimePoint::min(): Leads() must answer false
/// from now on.
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
/// Whether a callback of this kind is about a standby.
constexpr bool IsOfStandby(CallbackKind kind) {
  return kind == CallbackKind::kStandby || kind == CallbackKind::kStandbyEnded;
}
/// Queue a callback of the application. The answer is CallbackReturned. The core ignores the
/// answers to kSuspended and kResumed. Callbacks about standbys (IsOfStandby) get no answer.
struct RunCallback {
  OperationId operation = 0;
  ShardId shard;
  CallbackKind kind = CallbackKind::kAcquired;
  /// kPrepare: the term of the leadership that the move ends. kStandby: the term of the shard's
  /// present record. kStandbyEnded: 0. Other kinds: the term of this node's leadership.
  Term term;
  Reason reason = Reason::kStartup;  ///< for the application; no meaning for callbacks of standbys
};
/// A value on the heap; copies of a Boxed share it. Large and rare actions have one, because the
/// largest action sets the size of all, and a step may have tens of thousands of them.
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
/// A change of leadership that this node sees and another node counts. `elect` is how long this
/// node's view showed no leader; 0: it showed no gap. `detect` and `detect_at_most` are what this
/// node knows (detection.h). `activate` is not known, so it is 0.
struct SeeTransition {
  Boxed<Transition> transition;
};
/// A phase of a handoff is over:
///  - "prepare", reported by the target: from the start of the preparation until `prepared` is sent
///    for the first time.
///  - "release", reported by the leader: how long `releasing` ran, also before a resignation.
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
/// This node stops for good. Earlier actions of the same step have ended all leaderships. A core
/// returns HaltNode at most once, perhaps after Finished.
struct HaltNode {
  Error why;
};
/// The drain or the stop is over, or a halted node has ended its session. A core returns Finished
/// at most once.
struct Finished {
  bool drained = false;  ///< every shard was handed over or resigned in time; never if halted
  /// The lease was perhaps not revoked, and then expires by itself. Always true if the node has
  /// never read its group.
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
/// `result`: how many calls of the shard's `acquired` have failed so far; or why `acquired` can't
/// be called now.
struct AnswerRetry {
  RequestId request = 0;
  Result<std::uint32_t> result;
};
/// This node has other settings from now on. Its member record follows.
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
  /// When the runtime must call Step with a Tick, if no event comes earlier. Max: no Tick is
  /// needed.
  TimePoint wake_at = TimePoint::max();
};

}  // namespace baton::core
