// Balancer: one elected node plans moves; the shards' leaders then resign in favour of the targets.
//
// Every node has a Balancer; only the node that the `balancer` record names plans. The balancer
// writes moves, never shards. It plans a rebalance when three conditions hold: an imbalance has
// lasted rebalance_delay, every shard has a leader, and the membership has been quiet for as long.
// A pause prevents it. Drains don't wait for these conditions, and no pause stops them. The number
// of moves in flight and the time between two moves of a shard are limited. The balancer deletes
// moves that are void or made no progress. Failover never waits for the balancer. A loss is counted
// by the node that gains the shard; if no member may take the shard over, the balancer counts the
// loss.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/assignment.h"
#include "core/assignment_of_view.h"
#include "core/context.h"

namespace baton::core {

/// The moves that would balance the group; ignores delays, cooldowns and the limit on moves.
/// `term_of`: the present term of a shard that somebody leads.
std::vector<MoveFact> PlanAll(const AssignmentOfView& assignment,
                              const std::function<Term(ShardId)>& term_of);

class Balancer {
 public:
  struct Counters {
    std::uint64_t voided = 0;     ///< moves deleted because their term or target was gone
    std::uint64_t timed_out = 0;  ///< moves withdrawn because they made no progress
    std::uint64_t plans = 0;      ///< how often all shards were looked at for a plan
  };

  /// The outcome of a write of the balancer's.
  void On(Context& context, OperationId operation, Outcome outcome);
  /// Records what changed in the view.
  void Note(const View& view, const ViewChanges& changes) {
    outdated_ = outdated_ || changes.any();
    orphans_outdated_ = orphans_outdated_ || changes.members || changes.policy ||
                        changes.balancer || changes.config || Vacated(view, changes);
    hurried_ = hurried_ || changes.members || changes.policy;
    moved_.Note(changes);
    suspects_.Note(changes);
  }
  void Advance(Context& context);
  /// Forgets what was in flight: the session is lost.
  void Clear();
  /// Resigns the balancer's role, if this node has it: the node is stopping.
  void Resign(Context& context);

  /// Whether this node is the balancer: its record is in force and names our live session.
  bool Leads(const Context& context) const;
  const Counters& counters() const { return counters_; }

 private:
  void Campaign(Context& context);
  void CountOrphans(Context& context);
  void CountOrphan(Context& context, ShardId shard);
  void NoteMoves(const Context& context);
  void NoteMove(const Context& context, ShardId shard);
  void WithdrawMoves(Context& context);
  bool Stuck(const Context& context, const MoveFact& move) const;
  void WithdrawIfVoid(Context& context, const MoveFact& move, MoveBatch& batch);
  void NoteFailedTarget(const View& view, const MoveFact& move);
  Duration PauseAfterPlan(const Context& context) const;
  void Plan(Context& context);
  bool MayRebalance(const Context& context, bool requested, bool imbalanced);
  std::vector<bool> Movable(const Context& context, const AssignmentOfView& assignment,
                            bool requested);
  void WriteMoves(Context& context, const AssignmentOfView& assignment,
                  const std::vector<PlannedMove>& moves);
  void AvoidFailedTargets(Context& context, const AssignmentInput& input,
                          const std::vector<ShardId>& shard_of, std::vector<PlannedMove>& moves);
  void CancelRequest(Context& context);
  void FinishRequest(Context& context);
  Reason ReasonOf(const Context& context, const PlannedMove& move, const NodeId& from) const;

  struct Seen {
    Term ends;
    MovePhase phase = MovePhase::kPlanned;
    TimePoint since{};
  };

  /// The nodes that did not prepare a shard since its leader drains, in the present term.
  struct FailedTargets {
    Term ends;
    std::set<NodeId> nodes;
    TimePoint not_before{};  ///< the next drain, after all nodes have failed
    Duration pause{};
  };

  std::optional<OperationId> campaign_;
  TimePoint campaign_at_ = TimePoint::max();
  std::set<OperationId> writing_;
  TimePoint write_not_before_{};              ///< after a refusal
  ChangedShards moved_;                       ///< shards whose moves NoteMoves has to record
  ChangedShards suspects_;                    ///< moves that may have become void
  TimePoint withdraw_at_ = TimePoint::max();  ///< when the first of all moves times out
  std::map<ShardId, Seen> seen_;              ///< moves, and when this node first saw their phase
  std::map<ShardId, TimePoint> moved_at_;     ///< for the cooldown
  std::map<ShardId, FailedTargets> failed_targets_;
  std::map<ShardId, Term> orphaned_;  ///< losses without a successor that are counted already
  bool orphans_outdated_ = true;
  TimePoint count_orphans_at_ = TimePoint::max();
  std::optional<TimePoint> imbalanced_since_;
  bool requested_ = false;  ///< an operator's "apply" is set, or its moves must still be withdrawn
  bool outdated_ = true;
  TimePoint plan_at_{};
  TimePoint planned_at_{};  ///< of the last plan
  bool hurried_ = false;    ///< a member or policy changed since: the next plan waits less
  Counters counters_;
};

}  // namespace baton::core
