// Control: a node or relay as operators and metrics see it. The admin service, HTTP and metrics use
// this interface. "The node" below may also be a relay, except if a comment says otherwise.
//
// Thread-safe from the node's start until the node is destroyed, also after its stop. A child made
// by fork() may call only LeadershipOf. Each handler is called exactly once, on a thread of the
// node or on the caller's thread, maybe before the method returns. A handler must not throw, and
// may block only if the method's comment allows it.
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

/// How often a node logs a heartbeat line.
inline constexpr Duration kHeartbeatEvery = std::chrono::hours(1);

// The error of a stopped node, and of a stopped relay.
inline const Error kNodeStopped{ErrorCode::kUnavailable, "the node has stopped; ask another"};
inline const Error kRelayStopped{ErrorCode::kUnavailable, "the relay has stopped; ask another"};

class History;

/// Observes a node's events, for metrics. The node calls the methods on its loop, in the order of
/// the events. So the methods must be quick, and must not throw. A relay calls only OnHalted.
class BATON_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  /// The node counts this transition (NodeCounters::transitions).
  virtual void OnTransition(const Transition& transition) { (void)transition; }
  /// The node has halted: it has stopped for good. If an observer is added after the halt, the node
  /// calls OnHalted then. Called at most once.
  virtual void OnHalted(const Error& why) { (void)why; }
  /// A phase of a handoff is over (core::ReportHandoffPhase). `phase`: "prepare", "release" or
  /// "transfer".
  virtual void OnHandoffPhase(const char* phase, std::chrono::nanoseconds took) {
    (void)phase, (void)took;
  }
};

class BATON_EXPORT Control {
 public:
  virtual ~Control() = default;

  /// The handler gets a snapshot, never null. NodeStatus::at says when the snapshot was made. If
  /// the node took the time c to make the snapshot, calls share it for this time, but at most for
  /// 10 s:
  ///  - Usually max(50 ms, 20 * c).
  ///  - If the node made the snapshot for PlanRebalance: max(50 ms, 40 * c).
  ///  - If the node has since read the group's config or a policy from etcd: max(50 ms, c).
  ///
  /// A call always makes a new snapshot if one of these has happened since the last snapshot:
  ///  - The core has answered a Request.
  ///  - The node has halted, drained or stopped.
  ///  - The session has become live, or has ceased to be live.
  ///  - The view has become complete.
  ///
  /// After the stop, the snapshot has the last counters (a relay: 0), but no members and no shards,
  /// and `at` is TimePoint{}.
  virtual void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) = 0;
  /// Whether the loop made a turn lately: within max(400 ms, a third of the TTL that the node asks
  /// for). In a relay: within 3 s. So the answer turns false soon after the stop. Lock-free.
  virtual bool Alive() const noexcept = 0;
  /// Whether the session is live and the view is complete. False once the node has halted or
  /// stopped, and while the node's watchdog waits for a late sign of life. A relay is ready from
  /// the first proof of a complete view until the relay halts or stops. Lock-free.
  virtual bool Ready() const noexcept = 0;
  /// When the node sent its last confirmed renewal, in this session or an earlier one. The answer
  /// may be newer than a shared snapshot. nullopt: no renewal was confirmed yet, or this is a
  /// relay. Lock-free.
  virtual std::optional<TimePoint> RenewedAt() const noexcept { return std::nullopt; }
  /// The text that probes get while Ready() is true.
  virtual std::string ReadyWords() const { return "ready"; }
  /// Returns the same as Node::Leadership; a relay never leads. Lock-free.
  virtual baton::Leadership LeadershipOf(ShardId shard) const noexcept = 0;

  // Operators' changes. A relay answers kUnimplemented. Each of these methods may also give these
  // errors:
  //  - kUnavailable: the change was not made, and never will be. The node is stopping or has
  //    stopped, its view is not complete, or 64 changes wait already. Or the time `within` is over,
  //    and no write that was sent for the change can take effect any more.
  //  - kTimedOut: the change may still be made, now or later. The time `within` was over, or the
  //    node stopped, before the outcome was known.
  //  - kFailedPrecondition: another change came first, or etcd denies the write.
  //
  // `within` counts from when the loop takes the request. Unset: the handler waits until the
  // outcome is known. 0 or less: nothing is written. REQUIRES (not checked): `within` is below 200
  // years, because the sum with the present time must not overflow.

  /// Starts an operator's move of one shard. The handler gets the move once the move is written.
  /// GetStatus shows how the move goes on. A dry run gets the move with revision 0, if the move is
  /// possible. kNotFound: no such shard or node. kFailedPrecondition, also: the shard can't be
  /// moved there now, or the shard's term is not TransferRequest::if_term. kUnavailable, also: the
  /// node has no live session.
  virtual void Request(TransferRequest request, std::function<void(Result<MoveFact>)> handler) = 0;
  /// Calls `acquired` again for a shard whose `acquired` fails on this node. The handler gets the
  /// number of attempts that failed before. Does not wait for the new attempt. kFailedPrecondition:
  /// no `acquired` of the shard has failed, `acquired` can't be called now, the shard has no
  /// leader, or another node leads it. kUnavailable: the session is not live, or too many retries
  /// run. kNotFound: no such shard.
  virtual void Request(RetryRequest request,
                       std::function<void(Result<std::uint32_t>)> handler) = 0;
  /// Writes or deletes a policy. Idempotent. kNotFound: for kDrain, the group has no such node; for
  /// kUndrain, the group has neither the node nor a drain of the node. kFailedPrecondition, also:
  /// under FailoverPolicy::kNever, kUndrain of a drained node with a weight above 0 and without a
  /// state directory. A dry run finds only these errors and kUnavailable.
  virtual void Request(PolicyRequest request, std::function<void(Status)> handler) = 0;
  /// Changes the group's failover settings or placement rules. Idempotent. A dry run finds out
  /// whether the change is possible. kInvalidArgument: the settings or rules make no sense.
  /// kFailedPrecondition, also:
  ///  - Some member's version does not know such settings or rules.
  ///  - The group's config does not fit this node (CheckGroupConfig).
  ///  - The new policy is kNever, and a member without a state directory leads shards or may begin
  ///    to.
  virtual void Request(GroupChangeRequest request, std::function<void(Status)> handler) = 0;
  /// Changes this node's weight and labels until its process ends. Idempotent. Answers before etcd
  /// has the change; the other nodes see the change when etcd has the node's new record.
  /// kInvalidArgument: see SettingsAfter. kFailedPrecondition: the request names another node of
  /// the group. kNotFound: the request names no node of the group. kUnavailable, also: the node is
  /// draining.
  virtual void Request(NodeChangeRequest request,
                       std::function<void(Result<NodeChanged>)> handler) = 0;
  /// Releases by force a shard whose last leader's session has ended. A dry run finds out whether
  /// the release is possible. kNotFound: no such shard. kFailedPrecondition, also:
  ///  - The session lives, or any node may claim the shard already.
  ///  - The record is of a newer version.
  ///  - The record is damaged, and the failover policy is not FailoverPolicy::kNever: the nodes
  ///    replace the record by themselves.
  ///  - The record is damaged, the policy is kNever, and a session that may have led the shard may
  ///    still live.
  virtual void Request(ReleaseRequest request, std::function<void(Status)> handler) = 0;
  /// Finds the moves that the balancer would make now without delays, cooldowns and limits.
  /// core::PlanAll says which fields are set. The handler may block, except if it runs before
  /// PlanRebalance returns. kUnavailable: the view is not complete, the node does not answer within
  /// 1 s or has stopped, 4 requests wait already, or the host lacks threads. kUnimplemented: a
  /// relay.
  virtual void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) = 0;

  /// Writes a record to the node's log (NodeLog::Write); a relay: to the process's log. After the
  /// node has stopped, the record may be lost.
  virtual void Log(LogLevel level, std::string_view message, log::Fields fields) {
    log::Write(level, message, fields);
  }

  /// The events that this node saw; null: the node keeps no history.
  virtual std::shared_ptr<const History> history() const { return nullptr; }

  /// Examines the node, its etcd and its group, one request after another. An examination takes up
  /// to about 13 s if etcd is away. The handler may block, except if it runs before Examine
  /// returns. kUnavailable: the node is stopping or has stopped, 4 requests wait already, or the
  /// host lacks threads. kUnimplemented: this process can't be examined.
  virtual void Examine(ExamineRequest request, std::function<void(Result<Diagnosis>)> handler) {
    (void)request;
    handler(Error{ErrorCode::kUnimplemented, "this process can't be examined"});
  }

  /// Adds an observer, and keeps it until the node stops. The observer gets all events of later
  /// calls of Request. It may miss events that come before the loop takes the observer. A stopped
  /// node ignores the observer.
  virtual void AddObserver(std::shared_ptr<Observer> observer) = 0;
  /// Adds an observer of routes, and keeps it until its OnRoutesEnded. The first batch comes once
  /// the view is complete. If the node has halted or stopped, only OnRoutesEnded is called.
  virtual void AddRouteObserver(std::shared_ptr<RouteObserver> observer) = 0;
  /// The durations of calls to etcd so far, in seconds. The bounds of the buckets are inclusive.
  struct CallStats {
    static constexpr double kBounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,   0.1,   0.25,   0.5,   1,    2.5};
    std::uint64_t count = 0;
    double sum = 0;
    std::uint64_t buckets[std::size(kBounds) + 1] = {};  ///< not cumulative; last: above all bounds
  };
  /// By method and name of the gRPC code. Pairs without a call are left out.
  virtual std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const = 0;
  /// Returns the counts of the guard that the node started (GuardMode::kOwn). If the options ask
  /// for a guard of any kind, but no guard can act for this node, only cannot_act is set. nullopt:
  /// the options ask for no guard, or for a guard that the node does not start
  /// (GuardMode::kShared).
  virtual std::optional<GuardCounters> Guard() const { return std::nullopt; }
};

}  // namespace baton::runtime
