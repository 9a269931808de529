// Control: a node or relay as operators and metrics see it. The admin service, HTTP and metrics use
// this interface. "The node" below is also a relay, unless a comment says otherwise.
//
// Thread-safe from the node's start until the node is destroyed, also after its stop. But in a
// child made by fork(), only LeadershipOf may be called. Each handler is called exactly once, on a
// thread of the node or on the caller's thread, maybe before the call returns. So a handler must
// not throw, and may block only if the method says so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/log.h"
#include "base/node_change.h"
#include "baton/export.h"
#include "baton/result.h"
#include "baton/types.h"
#include "runtime/doctor/finding.h"
#include "runtime/node_counters.h"
#include "runtime/requests.h"
#include "runtime/status.h"
#include "runtime/view_routes.h"

namespace baton::runtime {

/// How often a node logs a heartbeat line. A quiet node logs nothing else.
inline constexpr Duration kHeartbeatEvery = std::chrono::hours(1);

// The error of a stopped node, and of a stopped relay.
inline const Error kNodeStopped{ErrorCode::kUnavailable, "the node has stopped; ask another"};
inline const Error kRelayStopped{ErrorCode::kUnavailable, "the relay has stopped; ask another"};

class History;

/// Observes a node's events, for metrics. The node calls the methods on its loop, in order, so they
/// must be quick, and must not throw. A relay calls only OnHalted.
class BATON_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  /// The node counts this transition.
  virtual void OnTransition(const Transition& transition) { (void)transition; }
  /// The node has halted: it has stopped for good. An observer that is added after the halt gets
  /// this call when it is added. Called at most once.
  virtual void OnHalted(const Error& why) { (void)why; }
  /// A phase of a handoff is over: see core::ReportHandoffPhase. `phase`: "prepare", "release" or
  /// "transfer".
  virtual void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) {
    (void)phase, (void)took;
  }
};

class BATON_EXPORT Control {
 public:
  virtual ~Control() = default;

  /// The handler gets a snapshot, which is never null. NodeStatus::at says when it was made. Calls
  /// share a snapshot for a time that depends on c, the time that it took to make:
  ///  - Usually max(50 ms, 20 * c). If it was made for PlanRebalance: max(50 ms, 40 * c).
  ///  - Only max(50 ms, c) if the node meanwhile reads the group's config or a policy from etcd.
  ///  - At most 10 s in any case.
  ///
  /// A call makes a new snapshot in any case if, since the last one, the core has answered a
  /// Request or the node has halted, drained or stopped. It also makes a new one if the session was
  /// live in the last snapshot and is not live now, or the reverse. It also makes a new one if the
  /// view was not complete in the last snapshot and is complete now. After the stop, the snapshot
  /// has the last counters (a relay: 0), but `at` is TimePoint{}, and there are no members and no
  /// shards.
  virtual void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) = 0;
  /// Whether the loop made a turn recently: within max(400 ms, a third of the TTL that the node
  /// asks for); in a relay within 3 s. So the answer turns false soon after the stop. Lock-free.
  virtual bool Alive() const noexcept = 0;
  /// Whether the session is live and the view complete; false once the node halts or stops. Also
  /// false while the node's watchdog waits for a late sign of life. A relay is ready from the first
  /// proof of a complete view until it halts or stops. Lock-free.
  virtual bool Ready() const noexcept = 0;
  /// When the node sent its last confirmed renewal, in this session or an earlier one. Unlike a
  /// shared status, the answer is up to date. Nullopt: no renewal was confirmed, or this is a
  /// relay. Lock-free.
  virtual std::optional<TimePoint> RenewedAt() const noexcept { return std::nullopt; }
  /// The line that probes get while Ready() is true.
  virtual std::string ReadyWords() const { return "ready"; }
  /// Returns the same as Node::Leadership; a relay never leads. Lock-free.
  virtual baton::Leadership LeadershipOf(ShardId shard) const noexcept = 0;

  // Operators' changes. A relay answers kUnimplemented. Each method may also give these errors:
  //  - kUnavailable: the change was not made, and never will be. Causes: the node is stopping or
  //    has stopped; its view is not complete; 64 changes wait already; or the time `within` is
  //    over, and no write that was sent for the change can take effect any more.
  //  - kTimedOut: the change may still be made, now or later. The time `within` is over, or the
  //    node stopped first.
  //  - kFailedPrecondition: another change came first, or etcd denies the write.
  //
  // `within` counts from when the loop takes the request. If it is unset, there is no limit: the
  // handler waits until the outcome is known. If it is 0 or less, nothing is written. REQUIRES (not
  // checked): it is below 200 years, because a greater value may overflow TimePoint.

  /// Starts an operator's move of one shard. The handler gets the move once it is written, or an
  /// error. In a dry run it gets the move, with revision 0, if the move is possible. GetStatus
  /// shows how the move goes on. kNotFound: no such shard or node. kFailedPrecondition: the shard
  /// can't be moved there now, or TransferRequest::if_term is another term. kUnavailable also: the
  /// node has no live session.
  virtual void Request(TransferRequest request, std::function<void(Result<MoveFact>)> handler) = 0;
  /// Calls the failing `acquired` of a shard that this node leads. Answers with the number of
  /// attempts that failed before, and does not wait for the new attempt. kFailedPrecondition: no
  /// `acquired` of the shard has failed, it can't be called now, the shard has no leader, or
  /// another node leads it. kUnavailable: no live session, or too many retries run. kNotFound: no
  /// such shard.
  virtual void Request(RetryRequest request,
                       std::function<void(Result<std::uint32_t>)> handler) = 0;
  /// Writes or deletes a policy. Idempotent. kNotFound: the node to drain is not in the group; or
  /// for kUndrain, neither the node nor a drain of it exists. kFailedPrecondition also: kUndrain,
  /// under FailoverPolicy::kNever, of a drained node whose weight is above 0 and which has no state
  /// directory. A dry run looks only for these errors and for kUnavailable.
  virtual void Request(PolicyRequest request, std::function<void(Status)> handler) = 0;
  /// Changes the group's failover settings or placement rules. A dry run finds out whether the
  /// change is possible. kInvalidArgument: the settings or rules make no sense.
  /// kFailedPrecondition: some member's version would not keep to them, the group's config does not
  /// fit this node, or kNever is asked for, and a member that leads or may lead has no state
  /// directory. Idempotent.
  virtual void Request(GroupChangeRequest request, std::function<void(Status)> handler) = 0;
  /// Changes this node's weight and labels, until its process ends. Answers before etcd has the
  /// change; the group sees the change when etcd takes the node's record. Idempotent.
  /// kInvalidArgument: see SettingsAfter. kFailedPrecondition: the request names another node of
  /// the group. kNotFound: it names no node of the group.
  virtual void Request(NodeChangeRequest request,
                       std::function<void(Result<NodeChanged>)> handler) = 0;
  /// Releases by force a shard whose last leader's session has ended. A dry run finds out whether
  /// that is possible. kFailedPrecondition: the session lives, any node may claim the shard
  /// already, the record is of a newer version, or the nodes will replace the damaged record. Under
  /// FailoverPolicy::kNever, only the last leader replaces a damaged record, and only if its
  /// session lives. Otherwise, under kNever, the shard of a damaged record can be released, but not
  /// before every session that may have led the shard has certainly ended. kNotFound: no such
  /// shard.
  virtual void Request(ReleaseRequest request, std::function<void(Status)> handler) = 0;
  /// Finds the moves that the balancer would make now if there were no delays, cooldowns or limits.
  /// Only the fields named at core::PlanAll are set. The handler may block, unless it runs before
  /// the call returns. kUnavailable: the view is not complete, the node does not answer or has
  /// stopped, too many requests wait, or the host lacks threads. kUnimplemented: a relay.
  virtual void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) = 0;

  /// Writes to the node's log as NodeLog::Write does. After the node has stopped, the record may be
  /// lost. By default, and for a relay, the record goes to the process's log.
  virtual void Log(LogLevel level, std::string_view message, log::Fields fields) {
    log::Write(level, message, fields);
  }

  /// The events that this node saw; null: the node keeps no history. The history is thread-safe.
  virtual std::shared_ptr<const History> history() const { return nullptr; }

  /// Examines the node, its etcd and its group. If etcd is away, this takes up to about 13 s; one
  /// request is examined after another. The handler may block, unless it runs before the call
  /// returns. kUnavailable: the node stops, too many requests wait, or the host lacks threads.
  /// kUnimplemented: this process can't be examined.
  virtual void Examine(ExamineRequest request, std::function<void(Result<Diagnosis>)> handler) {
    (void)request;
    handler(Error{ErrorCode::kUnimplemented, "this process can't be examined"});
  }

  /// Adds an observer, and keeps it until the node stops. The observer gets the events of each
  /// Request that is made after this call, and may miss earlier events. A stopped node ignores the
  /// observer.
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
  /// By (method, name of the gRPC code). A pair without a call is missing.
  virtual std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const = 0;
  /// Returns the counts of the guard that the node started (GuardMode::kOwn). If the options ask
  /// for a guard of any kind, and none can act for this node, only cannot_act is set. Otherwise
  /// nullopt, also if a guard that the node did not start acts for it.
  virtual std::optional<GuardCounters> Guard() const { return std::nullopt; }
};

}  // namespace baton::runtime
