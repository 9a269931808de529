// Succession: this node's part in filling vacancies, at once and without a planner.
//
// Every node computes the whole assignment (assignment.h) from its own view, and claims its own
// part in batches. At most kClaimBatchesInFlight batches are in flight, and claim_pace.h limits
// their pace. A node also claims the shards that the failover policy or a lock delay keeps for it,
// and replaces damaged records. A node claims nothing in each of these cases:
//  1. The view is not complete, or the group's config is bad or absent.
//  2. The node's session is not live, the node drains or stops (Context::draining), or its
//     application is not attached (Context::attached).
//  3. The brake is on. More than two members, and more than 10 % of all, vanished within the last
//     CoreOptions::settle. "All" are the live members and those that vanished. A member that left
//     in order, that flaps (steadiness.h) or that is back has not vanished.
//  4. A cold start has not settled: no shard is led, fewer than expect_nodes members are live, and
//     the membership has not been quiet for `settle`. If expect_nodes is 1, the number of members
//     does not matter. Quiet time counts from the first Advance without the cases 1 and 2.
//  5. The node pauses. A pause begins when a batch of claims is answered and some shard of the
//     batch still has no leader. The usual cause is a refused claim. The first pause is
//     kMinRetryPause. Each further pause in a row is twice as long, up to kMaxRetryPause.
//
// A node stalls if the assignment gives it vacancies, but no leadership of the node begins for a
// period. The period is kPassOverAfter plus ClaimPace::LongestPause. Then the first node in line
// claims the vacancies. After twice this period more, the second node claims the rest. After four
// times this period more, the third node does, and so on, up to the 16th. Each node measures these
// times itself. When one of the cases 1 to 4 ends for a node, its measurement begins again.
//
// A shard's line begins with the shard's ready standbys. The stalled node is not in line. Nodes
// with different views may see different lines. That does no harm: a claim's guards decide.
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
  /// Records what changed in the view. REQUIRES: each ViewChanges of the view is passed here before
  /// the next Advance.
  void Note(const ViewChanges& changes);
  /// Computes the assignment if needed, takes over shards of nodes that stall, and sends claims.
  void Advance(Context& context, const Leaderships& leaderships);
  /// The session is lost: forgets the claims in flight and the assignment. settled() stays, and so
  /// does the pause of case 5.
  void Clear();
  /// Whether the last Advance found the brake of case 3 on; false before the first Advance. Always
  /// false in the cases 1, 2 and 4. Case 5 does not matter.
  bool braking() const { return braking_; }
  /// Whether the cold start is over. Once true, it stays true. Until the first Advance without the
  /// cases 1 and 2, it is false, even if shards are led.
  bool settled() const { return settled_; }
  /// How often this node has computed the assignment of vacancies, and how often it has looked for
  /// nodes that stall.
  struct Counters {
    std::uint64_t assignments = 0;
    std::uint64_t looks_at_others = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  /// The shards that the assignment gives to another member.
  struct Assigned {
    NodeId node;
    std::vector<ShardId> shards;  ///< sorted; some may have a leader by now (assigned_to_)
    std::size_t left = 0;         ///< how many of `shards` have no leader yet
    /// when a leadership of the member last began, or when the vacancies first fell to it
    TimePoint progress_at{};
    Duration patience{};  ///< a member without progress for this long stalls
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
  /// If this node is held back or suspended, the others usually are, too. So no node's progress
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
  TimePoint pass_over_at_ = TimePoint::min();  ///< before this time, no node stalls
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
