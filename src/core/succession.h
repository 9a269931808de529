// Succession: this node's part in filling vacancies, at once and without a planner.
//
// Every node computes the whole assignment (assignment.h) from its own view, and claims its own
// part of it, in batches. At most kClaimBatchesInFlight batches are in flight, and claim_pace.h
// limits how fast they follow. A node also claims the shards that the failover policy or a lock
// delay keeps for it, and replaces damaged records. A node claims nothing in each of these cases:
//  1. The view is not complete, or the group's config is bad or absent.
//  2. The node's session is not live, the node drains or stops (Context::draining), or its
//     application is not attached (Context::attached).
//  3. The brake is on: more than two members, and more than 10 % of all, vanished within the last
//     CoreOptions::settle. "All" are the live members and those that vanished. Members that left in
//     order, that flap (steadiness.h) or that are back don't count as vanished.
//  4. A cold start has not settled: no shard is led, fewer than expect_nodes members are live, and
//     the membership has not been quiet for `settle`. If expect_nodes is 1, the number of members
//     does not matter. Quiet time counts only from the first Advance without case 1 or 2 on.
//  5. The node pauses. It does so if a batch of claims was answered, and some shard of the batch
//     still has no leader, usually because a claim was refused. The pause is kMinRetryPause at
//     first. It doubles with each further answer like this in a row, up to kMaxRetryPause.
//
// A node stalls if the assignment gives it vacancies, and no leadership of the node begins for
// kPassOverAfter plus the time that its pace needs (ClaimPace::LongestPause). Then the next node in
// line claims these shards. Each later place, up to the 16th, waits for one more period, which is
// twice as long as the period before it. Each node measures these periods itself. If one of the
// cases 1 to 4 holds for the node that measures, its periods begin again when the case is over. The
// line for a shard begins with the shard's ready standbys, without the node that stalls. Nodes with
// different views may see different lines. That does no harm: a claim's guards decide.
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
  /// A batch of claims has a definite outcome. Does nothing if the batch is not in flight here, for
  /// example after Clear. REQUIRES: `write` is a ClaimBatch of this object, and the view has merged
  /// what the write read back.
  void On(Context& context, OperationId operation, const Write& write, const WriteResult& result);
  /// Records what changed in the view. REQUIRES: every change is passed before the next Advance.
  void Note(const ViewChanges& changes);
  /// Divides the vacancies if needed, passes over nodes that stall, and sends claims.
  void Advance(Context& context, const Leaderships& leaderships);
  /// The session is lost: forgets the claims in flight and the assignment. settled() and a pause
  /// after a refusal stay as they are.
  void Clear();
  /// Whether the brake was on at the last Advance; false before the first one. False in cases 1, 2
  /// and 4 above, even if many members vanished. Case 5, the pause, does not matter here.
  bool braking() const { return braking_; }
  /// Whether the cold start is over. Stays true once it is. Advance finds this out only while
  /// neither case 1 nor case 2 above holds. Until then the result stays false, even if shards are
  /// led.
  bool settled() const { return settled_; }
  /// How often this node has divided vacancies, and how often it has looked for other nodes that
  /// stall. These two cost most in a large group.
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
