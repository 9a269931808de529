// What goes into the core and what comes out of it.
//
// An Event is a fact that reached this node; an Action is something the runtime must do now, in the
// order given. Replies carry the operation's number; a reply to an operation the core has given up
// is merged for its facts and otherwise ignored, so late and repeated events do no harm.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton::core {

using OperationId = std::uint64_t;
/// A request of an operator or of the embedding program, answered once.
using RequestId = std::uint64_t;

// ---- events ------------------------------------------------------------------------------------

struct SnapshotRead {
  Snapshot snapshot;
  std::uint64_t cluster_id = 0;  ///< of the etcd that answered
};
struct ChangesSeen {
  Changes changes;
};
/// The watch is known to be at this revision, by an answer to a probe: it is not standing still.
struct WatchProven {
  Revision revision;
};
struct LeaseGranted {
  OperationId operation = 0;
  Outcome outcome = Outcome::kUnknown;
  std::chrono::seconds ttl{0};
  std::string detail;
};
struct LeaseRevoked {
  OperationId operation = 0;
  Outcome outcome = Outcome::kUnknown;  ///< kRefused: no such lease, which is as good as done
};
struct KeepAliveAnswered {
  OperationId operation = 0;
  std::chrono::seconds ttl{0};
  std::uint64_t raft_term = 0;
};
/// The stream ended, or the send failed; the answer will not come.
struct KeepAliveEnded {
  OperationId operation = 0;
};
struct ConfirmAnswered {
  OperationId operation = 0;
  Outcome outcome = Outcome::kUnknown;
  bool passed = false;  ///< where done: our member key is still our session's
  Revision revision;
  std::uint64_t raft_term = 0;
  std::vector<Fact> read_back;  ///< the member key, where not passed
};
struct WriteAnswered {
  OperationId operation = 0;
  WriteResult result;
};
/// A callback returned (or threw: `ok` is false).
struct CallbackReturned {
  OperationId operation = 0;
  ShardId shard;
  bool ok = true;
};
struct TransferAsked {
  RequestId request = 0;
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;
  bool dry_run = false;
  std::string actor;
};
struct PolicyAsked {
  RequestId request = 0;
  std::string name;     ///< "drain/<node>", "pause", "rebalance"
  bool present = true;  ///< false: delete
  std::string actor;
};
/// Of an external application: what is known of the process that acts on this node's leaderships.
enum class ApplicationState : std::uint8_t {
  /// Proven dead, or the last deadline it was told has passed: it acts on nothing, and nothing is
  /// led until it is back. What an external node begins with.
  kAbsent,
  /// It may act until the last deadline it was told; it can't be asked, so nothing that it may hold
  /// is given away, and nothing new is taken.
  kDetached,
  kAttached,
};
struct ApplicationChanged {
  ApplicationState state = ApplicationState::kAbsent;
};
struct DrainAsked {};
struct StopAsked {};
/// Only time has passed.
struct Tick {};

using Event = std::variant<SnapshotRead, ChangesSeen, WatchProven, LeaseGranted, LeaseRevoked,
                           KeepAliveAnswered, KeepAliveEnded, ConfirmAnswered, WriteAnswered,
                           CallbackReturned, TransferAsked, PolicyAsked, ApplicationChanged,
                           DrainAsked, StopAsked, Tick>;

// ---- actions -----------------------------------------------------------------------------------

struct GrantLease {
  OperationId operation = 0;
  SessionId lease;
  std::chrono::seconds ttl{0};
};
struct RevokeLease {
  OperationId operation = 0;
  SessionId lease;
};
/// Write the session into the state directory's lock, before its member key is put.
struct RecordSession {
  SessionId session;
};
struct SendKeepAlive {
  OperationId operation = 0;
  SessionId lease;
  bool fresh_stream = false;  ///< end the present stream and open one to another endpoint
};
struct ConfirmSession {
  OperationId operation = 0;
  SessionGuard guard;
};
struct SubmitWrite {
  OperationId operation = 0;
  std::shared_ptr<const Write> write;  ///< shared with its later copies; never null
  /// What the last answer said of each item, where an earlier copy was sent and not all became
  /// definite: only items that are unknown, or missing here, are wanted. Unset: the first copy.
  std::optional<std::vector<Outcome>> earlier = {};
};
/// Ask the watch where it is; an answer is WatchProven.
struct ProbeWatch {};
/// The watch stands still: open it on another endpoint.
struct ReopenWatch {};
/// Read everything once more and deliver it as SnapshotRead; the watch goes on.
struct AuditView {};

/// What Leads() answers for this shard from now on. Carried out before anything that follows.
struct SetLeadership {
  ShardId shard;
  Term term;  ///< 0: not led
  bool activated = false;
};
/// Until when Leads() may answer true at all.
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
};
const char* ToString(CallbackKind kind);
struct RunCallback {
  OperationId operation = 0;
  ShardId shard;
  CallbackKind kind = CallbackKind::kAcquired;
  Term term;
  Reason reason = Reason::kStartup;
};
/// A transition that this node counts.
struct ReportTransition {
  Transition transition;
};
/// One that this node only sees: another node counts it, or has. Its `elect` is how long this
/// node's view showed nobody, 0 where it showed none such time; its `activate` is not known here.
struct SeeTransition {
  Transition transition;
};
struct ReportHandoffPhase {
  const char* phase = "";
  Duration took{0};
};
/// For the log: something an operator should know; one line.
struct Notice {
  enum class Level : std::uint8_t { kInfo, kWarning, kError };
  Level level = Level::kInfo;
  std::string text;
};
/// This node stops for good. All shards were lost before.
struct HaltNode {
  Error why;
};
/// The drain or stop is over.
struct Finished {
  bool drained = false;     ///< every shard was handed over or resigned in time
  bool lease_left = false;  ///< etcd was away: the lease runs out by itself
};
struct AnswerTransfer {
  RequestId request = 0;
  Result<MoveFact> result;
};
struct AnswerPolicy {
  RequestId request = 0;
  Status result;
};

using Action =
    std::variant<GrantLease, RevokeLease, RecordSession, SendKeepAlive, ConfirmSession, SubmitWrite,
                 ProbeWatch, ReopenWatch, AuditView, SetLeadership, SetDeadline, RunCallback,
                 ReportTransition, SeeTransition, ReportHandoffPhase, Notice, HaltNode, Finished,
                 AnswerTransfer, AnswerPolicy>;

/// What one step asks for.
struct Output {
  std::vector<Action> actions;           ///< in this order
  TimePoint wake_at = TimePoint::max();  ///< step again no later than this, if nothing comes before
};

}  // namespace baton::core
