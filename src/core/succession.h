// Succession: this node's part in filling vacancies, at once and without a planner.
//
// Every node computes the whole assignment (assignment.h) from its own view and claims its own part
// of the assignment, in batches. A node claims nothing in each of these cases: its session is not
// live; it drains; its external application is not attached; the brake is on (too many members
// vanished at once); a cold start has not settled. If a successor claims nothing for too long,
// exactly one node, the next in line, claims in its place.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/assignment.h"
#include "core/claim_pace.h"
#include "core/context.h"
#include "core/leaderships.h"

namespace baton::core {

/// The view in the form that the assignment reads. `shard_of[i]` is the number of
/// AssignmentInput::shards[i]. A shard is left out in three cases: its record has a newer schema,
/// which nobody may replace; its record is damaged and may not be replaced yet; its record names a
/// session that lives but can't take part, or gets nothing for now (NodesThatGetNothing).
struct AssignmentOfView {
  AssignmentInput input;
  std::vector<ShardId> shard_of;
  /// when a member that gets nothing for now may take part again, or a shard's wait ends
  TimePoint changes_at = TimePoint::max();
};
/// `now` and `settle` decide when a damaged record whose leader is unknown may be replaced.
AssignmentOfView AssignmentFrom(const View& view, Duration settle, TimePoint now);

/// Why the shard has no leader. Use it only for a record that is readable and not in force.
Reason VacancyReason(const View& view, const RecordFact& record);

class Succession {
 public:
  /// REQUIRES: what the write read back is merged into the view.
  void On(Context& context, OperationId operation, const Write& write, const WriteResult& result);
  /// Records what changed in the view.
  void Note(const ViewChanges& changes);
  void Advance(Context& context, const Leaderships& leaderships);
  /// Forgets what was in flight: the session is lost.
  void Clear();
  bool braking() const { return braking_; }
  bool settled() const { return settled_; }

 private:
  struct Assigned {
    std::set<ShardId> shards;  ///< vacancies that the assignment gives this member
    /// when this node saw the member's last claim, or when the vacancies first fell to the member
    TimePoint progress_at{};
    Duration patience{};  ///< if it makes no progress for this long, it is passed over
  };

  bool HeldBack(Context& context);
  bool Settled(Context& context);
  bool Brake(Context& context);
  bool Outdated(const Context& context) const;
  void NoteProgress(const Context& context);
  void ReplaceDamaged(const Context& context, const Leaderships& leaderships);
  void NoteAssigned(const Context& context, std::map<NodeId, std::set<ShardId>> others,
                    std::int64_t total);
  void CountClaimsInFlight(const NodeId& self, AssignmentOfView& of_view) const;
  void Assign(Context& context, const Leaderships& leaderships);
  void PassOver(Context& context);
  bool NextInLine(const Context& context, const NodeId& stalled, std::size_t place) const;
  void SendClaims(Context& context);
  std::optional<Claim> ClaimOf(const Context& context, ShardId shard) const;

  ViewChanges noted_;  ///< changes of the view since the last Advance
  bool settled_ = false;
  bool braking_ = false;
  bool outdated_ = true;
  bool was_live_ = false;
  std::optional<TimePoint> first_complete_at_;
  std::deque<ShardId> mine_;
  std::map<NodeId, Assigned> others_;
  std::map<OperationId, std::vector<ShardId>> in_flight_;
  std::set<ShardId> claiming_;
  TimePoint hold_until_{};
  /// damaged records may be replaced after some time
  TimePoint assign_again_at_ = TimePoint::max();
  Duration hold_ = kMinRetryPause;
  ClaimPace pace_;
};

}  // namespace baton::core
