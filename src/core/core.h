// Core: one node's whole behaviour as a pure state machine.
//
// Step(now, event) records the event. If the event answers a write, or a callback has returned,
// Step settles what that means for the session and the shards. Then Step looks at the whole state
// and decides everything else. So late, repeated and reordered events do no harm. A second Tick at
// the same time changes nothing, with one exception. A large change of standbys takes several steps
// (View::ContinueStandbys), and each of them asks for the next step at once. Step returns ordered
// actions and the time of the next step. The core never touches network, disk, clock, threads or
// randomness: `now` is an argument, and CoreOptions has functions for random numbers and the wall
// clock.
//
// After the node has halted or finished, Step still merges facts, but refuses each request and
// writes nothing more. A halted node revokes its lease. But if an application in another process
// may still act on the node's shards, the node lets the lease expire.
//
// The core has no threads of its own; only the runtime's loop thread calls it.
//
//   events ──▶ View (facts by revision) ──▶ Session (lease, deadline)
//                                       ├─▶ ShardWork (leaderships, claims, moves) ──▶ actions
//                                       └─▶ Lifecycle (drain, halt, end)
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/application_presence.h"
#include "core/committed_revisions.h"
#include "core/config_keeper.h"
#include "core/context.h"
#include "core/events.h"
#include "core/lifecycle.h"
#include "core/operator_requests.h"
#include "core/options.h"
#include "core/session.h"
#include "core/shard_work.h"
#include "core/view.h"
#include "core/watch_progress.h"

namespace baton::core {

class Core {
 public:
  /// REQUIRES (checked): options.shards > 0, options.random set, options.self.node not empty.
  explicit Core(CoreOptions options);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Processes one event. REQUIRES (not checked): `now` is not before the last step's `now`.
  Output Step(TimePoint now, const Event& event);

  // The runtime shows these to operators. References are valid until the next Step.
  const CoreOptions& options() const { return options_; }
  const View& view() const { return view_; }
  /// The parts of the view that the last step changed. The lists may be unsorted, and may have an
  /// entry twice (ViewChanges::Add). From the step that halts the node until a step has returned
  /// Finished, changes are held back. The step after that one reports all of them.
  const ViewChanges& changed() const { return changed_; }
  const Session& session() const { return session_; }
  const Leaderships& leaderships() const { return work_.leaderships(); }
  const Succession& succession() const { return work_.succession(); }
  const Balancer& balancer() const { return work_.balancer(); }
  const IncomingMoves& incoming_moves() const { return work_.incoming_moves(); }
  const StandbyDuties& standby_duties() const { return work_.standby_duties(); }
  const OperatorRequests& requests() const { return requests_; }
  /// Why this node halted, which is for ever; nullopt: it has not halted.
  std::optional<Error> halted() const { return lifecycle_.halted(); }
  /// Whether the node was asked to drain or stop, or has halted or finished.
  bool draining() const { return !lifecycle_.running(); }
  /// Whether a step has returned Finished.
  bool finished() const { return lifecycle_.finished(); }
  /// Whether the session's deadline has passed, even if no step has noticed that yet. False without
  /// a session, and before the session's first confirmed renewal.
  bool suspended(TimePoint now) const {
    return session_.deadline() != TimePoint::min() && !session_.live(now);
  }
  /// The state of an application that is another process, or that a watchdog watches. Any other
  /// application is always kAttached.
  ApplicationState application() const { return application_.state(); }
  /// How many damaged records this node has seen: see RecordNews::damaged.
  std::uint64_t damaged_records() const { return work_.news().damaged(); }
  /// The highest revision of the store that definite answers to this node's writes and
  /// confirmations showed. Includes earlier runs (CoreOptions::highest_committed). 0: unknown.
  Revision highest_committed() const { return commits_.highest(); }
  /// How many writes have no definite outcome yet. Does not count the session's own writes.
  std::size_t pending_writes() const { return writes_.size(); }
  /// This node knows every change up to this revision, from the watch or from a read of everything.
  Revision watch_proven() const { return watch_.reached(); }
  /// ConfigFact::Incarnation of the last config that fitted; 0: no config has fitted yet.
  Revision config_incarnation() const { return config_.incarnation(); }

 private:
  // Each records an event. A missing overload does not compile.
  void Record(Context& context, const SnapshotRead& event);
  void Record(Context& context, const ChangesSeen& event);
  void Record(Context& context, const WatchProven& event);
  void Record(Context& context, const RevisionAnswered& event);
  void Record(Context& context, const LeaseGranted& event);
  void Record(Context& context, const LeaseRevoked& event);
  void Record(Context& context, const KeepAliveAnswered& event);
  void Record(Context& context, const KeepAliveEnded& event);
  void Record(Context& context, const ConfirmAnswered& event);
  void Record(Context& context, const WriteAnswered& event);
  void Record(Context& context, const CallbackReturned& event);
  void Record(Context& context, const TransferRequested& event);
  void Record(Context& context, const PolicyRequested& event);
  void Record(Context& context, const RetryRequested& event);
  void Record(Context& context, const GroupChangeRequested& event);
  void Record(Context& context, const ReleaseRequested& event);
  void Record(Context& context, const NodeChangeRequested& event);
  void Record(Context& context, const ApplicationChanged& event);
  void Record(Context& context, const HealthChanged& event);
  void Record(Context& context, const StandbysReadySaid& event);
  void Record(Context& context, const DrainRequested& event);
  void Record(Context& context, const StopRequested& event);
  void Record(Context& context, const Tick& event);
  void Advance(Context& context);
  /// Halts if a read or a commit shows that the store went back in time.
  void CheckStore(Context& context);
  void CheckApplication(Context& context);
  void CheckConfig(Context& context);
  /// Whether a session may begin. True if the application is there, and the last read of the view
  /// or the last loss of a session is recent. Recent means: after the application came, or at most
  /// a TTL before. Reason: without an application the view is read seldom, and a late watch might
  /// hide a bad config.
  bool WantsSession() const {
    const TimePoint known = std::max(view_.read_at(), session_.lost_at());
    return !application_.absent() && known >= application_.there_since() - Duration(options_.ttl);
  }
  void CheckSession(Context& context);
  void EndSession(Context& context);
  void CheckWatch(Context& context);
  /// Returns true if a read of the view every kAuditEvery is enough; false: the view must be read
  /// every TTL. May ask for the store's revision if this node has no application.
  bool ComparesWatch(Context& context);
  /// Tells the other parts which parts of the view the last merge changed.
  void NoteViewChanges(Context& context);
  Error WentBack(Revision earlier, Revision later) const;
  void Halt(Context& context, const Error& why);
  void AdvanceEnd(Context& context);
  void Close(Context& context);

  CoreOptions options_;
  OperationId next_operation_ = 1;
  View view_;
  ViewChanges changed_;
  Session session_;
  PendingWrites writes_;
  CommittedRevisions commits_;
  ConfigKeeper config_;
  WatchProgress watch_;
  OperatorRequests requests_;
  ApplicationPresence application_;
  ShardWork work_;
  Lifecycle lifecycle_;
};

}  // namespace baton::core
