// Control: a node or relay as operators and metrics see it. The admin service, HTTP and metrics are
// built on it. "The node" below is also a relay, unless a comment says otherwise.
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

class BATON_EXPORT Control {
 public:
  virtual ~Control() = default;

  /// The handler gets a snapshot as of NodeStatus::at; never null. Calls share a snapshot. If it
  /// took the time c to make, they share it for max(50 ms, 20 * c), or max(50 ms, 40 * c) if it was
  /// made for PlanRebalance, but 10 s at most. If the node meanwhile sees a change of the group's
  /// settings or policies, they share it only for max(50 ms, c). A new one is made once the core
  /// has answered a Request, the session begins or ceases to be live, the view becomes complete, or
  /// the node halts or has drained. After the stop: no members, no shards, the last counters (a
  /// relay: 0).
  virtual void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) = 0;
  /// Whether the loop made a turn recently: within a third of the TTL, at least 400 ms; in a relay
  /// within 3 s. So it turns false soon after the stop. Lock-free.
  virtual bool Alive() const noexcept = 0;
  /// Whether the session is live and the view complete; false once the node halts or stops. A relay
  /// is ready from the first proof of a complete view until it halts or stops. Lock-free.
  virtual bool Ready() const noexcept = 0;
  /// When the node sent its last confirmed renewal, in this session or an earlier one. Up to date,
  /// unlike a shared status. Nullopt: there was none, or this is a relay. Lock-free.
  virtual std::optional<TimePoint> RenewedAt() const noexcept { return std::nullopt; }
  /// The line that probes get while Ready() is true.
  virtual std::string ReadyWords() const { return "ready"; }
  /// Returns the same as Node::Leadership; a relay never leads. Lock-free.
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
  /// there is neither the node nor the drain to take back. kFailedPrecondition also: the drain of a
  /// node without a state directory is not taken back under kNever. A dry run checks only these.
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

  /// Adds an observer, and keeps it until the node ends. It gets the events of a Request that is
  /// made after this call, and may miss those of earlier ones. A stopped node ignores the observer.
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
