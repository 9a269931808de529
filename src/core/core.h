// Core: one node's whole behaviour as a pure state machine.
//
// Step(now, event) records the event's facts; then it looks at the whole state and decides. So
// late, repeated and reordered events do no harm, and a second Tick at the same time changes
// nothing. Step returns ordered actions and the time of the next step. The core never touches
// network, disk, clock, threads or randomness: `now` is an argument, random numbers come from
// CoreOptions::random.
//
// The core has no threads of its own; only the runtime's loop thread calls it.
//
//   events ──▶ View (facts by revision) ──▶ Session (lease, deadline)
//                                       ├─▶ Leaderships (held shards, giving away)
//                                       ├─▶ Prepares (shards on their way here)
//                                       ├─▶ Succession (claims)      ──▶ actions
//                                       └─▶ Balancer (moves, if elected)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/balancer.h"
#include "core/context.h"
#include "core/events.h"
#include "core/leaderships.h"
#include "core/options.h"
#include "core/prepares.h"
#include "core/seen_transitions.h"
#include "core/session.h"
#include "core/succession.h"
#include "core/view.h"

namespace baton::core {

class Core {
 public:
  /// REQUIRES: options.shards > 0, options.random set, options.self.node not empty.
  explicit Core(CoreOptions options);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// REQUIRES: `now` never goes back.
  Output Step(TimePoint now, const Event& event);

  // What the runtime shows to operators. Valid until the next Step.
  const CoreOptions& options() const { return options_; }
  const View& view() const { return view_; }
  /// The parts of the view that the last step changed.
  const Touched& changed() const { return changed_; }
  const Session& session() const { return session_; }
  const Leaderships& leaderships() const { return leaderships_; }
  const Succession& succession() const { return succession_; }
  const Balancer& balancer() const { return balancer_; }
  const Prepares& prepares() const { return prepares_; }
  const std::optional<Error>& halted() const { return halted_; }
  bool draining() const { return draining_; }
  bool finished() const { return finished_; }
  /// Whether the deadline has passed of a session that isn't known to be lost. True from the
  /// deadline on, even before the step that notices it.
  bool suspended(TimePoint now) const {
    return session_.deadline() != TimePoint::min() && !session_.live(now);
  }
  /// The state of an external application; without one, always attached.
  ApplicationState application() const { return application_; }
  std::uint64_t quarantined() const { return quarantined_; }
  /// The highest revision at which a write or confirmation of this node committed.
  Revision highest_committed() const { return highest_committed_; }
  /// Writes whose outcome is not definite yet.
  std::size_t pending_writes() const { return writes_.size(); }
  /// The revision that the watch is known to have reached.
  Revision watch_proven() const { return watch_proven_; }
  /// Operators' requests that were refused because too many were waiting already.
  std::uint64_t requests_refused() const { return requests_refused_; }
  /// The moves that would balance the group now; ignores delays, cooldowns and the limit on moves.
  std::vector<MoveFact> PlanNow(TimePoint now) const;

 private:
  /// Tells the parts that decide which parts of the view the last merge changed.
  void NoteTouched(Context& context);
  void Record(Context& context, const Event& event);
  void RecordSnapshot(Context& context, const SnapshotRead& event);
  void RecordWrite(Context& context, const WriteAnswered& event);
  void RecordConfirm(Context& context, const ConfirmAnswered& event);
  void RecordApplication(Context& context, const ApplicationChanged& event);
  void NoteCommit(Context& context, Revision revision, OperationId operation);
  void Advance(Context& context);
  void CheckConfig(Context& context);
  void WriteConfig(Context& context, std::uint64_t cluster_id);
  void CheckSession(Context& context);
  void EndSession(Context& context);
  void GiveUpAll(Context& context);
  void CheckSuspension(Context& context);
  void CheckWatch(Context& context);
  void AdvanceDrain(Context& context);
  void NoteRecords(Context& context, const Touched& touched);
  void NoteDamage(Context& context, ShardId shard, const RecordFact& record);
  void Halt(Context& context, ErrorCode code, std::string message);
  bool OthersCanLead(const Context& context) const;

  void Ask(Context& context, const TransferAsked& event);
  void Ask(Context& context, const PolicyAsked& event);
  Result<MoveFact> MoveFor(const Context& context, const TransferAsked& event) const;
  /// Answers the requests that are still waiting with an error: this node stops.
  void DropRequests(Context& context);
  /// `sent_once`: no answer to an earlier copy of the write was lost.
  bool AnswerRequest(Context& context, OperationId operation, const Write& write,
                     const WriteResult& result, bool sent_once);

  CoreOptions options_;
  OperationId next_operation_ = 1;
  View view_;
  Touched changed_;
  Session session_;
  std::uint64_t requests_refused_ = 0;
  PendingWrites writes_;
  Leaderships leaderships_;
  Prepares prepares_;
  Succession succession_;
  Balancer balancer_;

  std::optional<Error> halted_;
  bool draining_ = false;
  bool closing_ = false;
  ApplicationState application_;
  TimePoint detached_at_{};   ///< when the application was last detached
  bool leave_lease_ = false;  ///< another process may still act on the shards that were given up
  bool finished_ = false;
  bool drained_ = true;
  TimePoint drain_deadline_ = TimePoint::max();
  std::optional<TimePoint> resigned_all_at_;
  std::size_t left_to_resign_ = 0;

  std::uint64_t cluster_id_ = 0;
  std::optional<OperationId> config_write_;
  TimePoint config_not_before_{};  ///< after a refusal
  Revision highest_committed_;
  /// highest_committed_ when the operation was sent
  std::map<OperationId, Revision> committed_before_;

  TimePoint published_deadline_ = TimePoint::min();
  std::optional<TimePoint> suspended_at_;

  Revision watch_floor_;   ///< the watch must reach this revision
  Revision watch_proven_;  ///< the watch is known to have reached this revision
  TimePoint watch_behind_since_ = TimePoint::max();
  TimePoint read_at_{};  ///< when the view was last read, or the core last asked for a read

  std::map<OperationId, RequestId> transfers_asked_;
  struct PolicyRequestUnderWay {
    RequestId request = 0;
    int attempts = 0;  ///< left, including this one
  };
  std::map<OperationId, PolicyRequestUnderWay> policies_asked_;
  SeenTransitions seen_;
  std::uint64_t quarantined_ = 0;
  std::map<ShardId, Revision> damage_said_;
};

}  // namespace baton::core
