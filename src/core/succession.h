// Succession: this node's part in filling vacancies, at once and without a planner.
//
// Every node computes the whole assignment (assignment.h) from its own view, and claims its own
// part of it, in batches (claim_pace.h). It also claims the shards that the failover policy keeps
// for it, and replaces damaged records. A node claims nothing in each of these cases:
//  - The view is not complete, or the group's config is bad.
//  - Its session is not live, it stops, or its application is not attached (Context::attached).
//  - The brake is on: more than two members, and more than 10 % of all, vanished within `settle`.
//    Members that left in order, flap (steadiness.h) or are back don't count.
//  - A cold start has not settled: no shard is led, the membership has not been quiet for `settle`,
//    and fewer than expect_nodes members are live. (If expect_nodes is 1, `settle` alone decides.)
//  - A claim was refused and the shard still has no leader: no claims for kMinRetryPause, then
//    twice as long for each such batch in a row, up to kMaxRetryPause.
//
// If a node claims nothing of its part for kPassOverAfter plus the time that its pace needs, the
// next node in line claims in its place. While the next one may not claim, that time does not
// count. For each shard, its ready standbys without the slow node are first in line. Nodes with
// different views may see different lines; a claim's guards decide.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/assignment_of_view.h"
#include "core/claim_pace.h"
#include "core/context.h"
#include "core/leaderships.h"

namespace baton::core {

class Succession {
 public:
  /// The definite outcome of a claim. REQUIRES: the view has merged what the write read back.
  void On(Context& context, OperationId operation, const Write& write, const WriteResult& result);
  /// Records what changed in the view. REQUIRES: every change is passed before the next Advance.
  void Note(const ViewChanges& changes);
  /// Divides the vacancies if needed, and sends claims.
  void Advance(Context& context, const Leaderships& leaderships);
  /// The session is lost: forgets the claims in flight and the assignment. settled() stays as it
  /// is.
  void Clear();
  /// Whether the brake was on at the last Advance. False if one of the other cases above kept this
  /// node from claiming, too. A pause after a refusal does not matter here.
  bool braking() const { return braking_; }
  /// Whether the cold start is over. Stays true.
  bool settled() const { return settled_; }
  /// How often this node has divided the vacancies, and how often it looked for other nodes that
  /// claim too slowly. These cost most in a large group.
  struct Counters {
    std::uint64_t assignments = 0;
    std::uint64_t looks_at_others = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  /// The shards that the assignment gives to another member.
  struct Assigned {
    NodeId node;
    std::vector<ShardId> shards;  ///< sorted; some may have a leader by now: see assigned_to_
    std::size_t left = 0;         ///< how many of them have no leader yet
    /// when a leadership of the member last began, or when the vacancies first fell to it
    TimePoint progress_at{};
    Duration patience{};  ///< if it makes no progress for this long, it is passed over
  };
  /// The nodes that may take over for others.
  struct Line {
    std::vector<NodeId> nodes;                ///< sorted
    TimePoint changes_at = TimePoint::max();  ///< when another node may join the line
  };
  /// A shard that this node is to claim, and why.
  struct Mine {
    ShardId shard;
    Cause cause;
  };
  static constexpr std::uint32_t kToNobody = std::numeric_limits<std::uint32_t>::max();

  bool HeldBack(Context& context);
  bool Settled(Context& context);
  bool Brake(Context& context);
  bool Outdated(const Context& context) const;
  void NoteProgress(const Context& context);
  void ReplaceDamaged(const Context& context, const Leaderships& leaderships);
  ClaimPace::Share AssignVacancies(const Context& context, std::vector<Assigned>& others);
  void CountClaimsInFlight(const NodeId& self, AssignmentOfView& of_view) const;
  void NoteAssigned(const Context& context, std::vector<Assigned> others, std::int64_t total);
  void ReplaceOthers(std::vector<Assigned> others);
  /// While this node is held back or suspended, the others are too, as a rule. So nobody's progress
  /// counts until this node has divided the vacancies again.
  void ForgetOthers() {
    ReplaceOthers({});
    outdated_ = true;
  }
  Assigned* AssignedTo(const NodeId& node);
  std::int64_t TakeBack(const std::vector<ShardId>& shards);
  void Assign(Context& context, const Leaderships& leaderships);
  void PassOver(Context& context);
  void TakeOver(const Context& context, const Line& line, std::size_t place, Assigned& assigned);
  static Line LineOf(const Context& context);
  static std::vector<NodeId> ReadyLine(const Context& context, const Line& line, ShardId shard,
                                       const NodeId& stalled);
  static Line LineFor(const Context& context, const Line& line, std::size_t rule,
                      const NodeId& stalled);
  static NodeId NextInLine(const Line& line, const NodeId& stalled, std::size_t place);
  void SubmitClaims(Context& context);
  std::optional<Claim> ClaimOf(const Context& context, Mine mine) const;

  ViewChanges noted_;  ///< changes of the view since the last Advance
  bool settled_ = false;
  bool braking_ = false;
  bool outdated_ = true;
  std::optional<TimePoint> first_complete_at_;
  std::deque<Mine> mine_;
  /// shards that this node claims in place of a node that stalled (the value); emptied when a
  /// member or policy changes
  std::map<ShardId, NodeId> taken_over_;
  std::vector<bool> was_vacant_;               ///< by shard, as of the last Advance
  std::vector<Term> noted_term_;               ///< by shard: the last leadership that was noted
  std::vector<Assigned> others_;               ///< sorted by node
  std::vector<std::uint32_t> assigned_to_;     ///< by shard: the number in others_, or kToNobody
  TimePoint pass_over_at_ = TimePoint::min();  ///< nobody can be passed over earlier
  std::map<OperationId, std::vector<ShardId>> in_flight_;
  std::set<ShardId> claiming_;
  TimePoint hold_until_{};
  /// when to divide the vacancies again although nothing changes: a wait or a rest ends, or a
  /// damaged record may be replaced
  TimePoint assign_again_at_ = TimePoint::max();
  Duration hold_ = kMinRetryPause;
  ClaimPace pace_;
  Counters counters_;
};

}  // namespace baton::core
