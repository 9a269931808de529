// Succession: this node's part in filling vacancies, at once and without a planner.
//
// Every node computes the whole division (division.h) from its own view and claims what falls to
// itself, in batches. What holds it back: a session that is not live, a drain, the brake (too many
// members vanished at once), and a cold start that has not settled. A successor that claims nothing
// is passed over for exactly one next in line.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/context.h"
#include "core/division.h"
#include "core/leaderships.h"

namespace baton::core {

/// The view as the division reads it. `shard_of[i]` is the number of DivisionInput::shards[i]:
/// records of an unknown newer schema are left out, for nobody replaces them.
struct DivisionOfView {
  DivisionInput input;
  std::vector<ShardId> shard_of;
};
/// `now` decides when a damaged record of unknown leader may be replaced.
DivisionOfView DivisionFrom(const View& view, Duration settle, TimePoint now);

/// The one of `known` that the group uses now: the newest that every live member can run.
const DivisionFunction& DivisionOf(const View& view, const std::vector<DivisionFunction>& known);

/// Why nobody leads by a record that is readable and not in force.
Reason VacancyReason(const View& view, const RecordFact& record);

class Succession {
 public:
  /// Returns false where the operation is not one of these.
  bool On(Context& context, OperationId operation, const Write& write, const WriteResult& result);
  /// What the view learnt.
  void Note(const Touched& touched);
  void Advance(Context& context, const Leaderships& leaderships);
  /// The session is lost: what was under way counts no more.
  void Clear();
  bool braking() const { return braking_; }
  bool settled() const { return settled_; }

 private:
  struct Assigned {
    std::set<ShardId> shards;  ///< vacancies that fall to this member
    TimePoint progress_at{};   ///< last claim of its that landed, or when they first fell to it
  };

  bool HeldBack(Context& context);
  bool Settled(Context& context);
  bool Brake(Context& context);
  bool Outdated(const Context& context) const;
  void NoteProgress(const Context& context);
  void Divide(Context& context, const Leaderships& leaderships);
  void PassOver(Context& context);
  bool NextInLine(const Context& context, const NodeId& stalled, std::size_t place) const;
  void SendClaims(Context& context);
  struct Pace {
    Duration each;         ///< between two claims, in the long run
    std::int64_t at_once;  ///< claims that may come together after a pause
    std::int64_t batch;    ///< so many are worth a transaction, where there are so many
  };
  static Pace PaceOf(const Context& context);
  std::size_t PacedAllowance(Context& context);
  std::optional<Claim> ClaimOf(const Context& context, ShardId shard) const;

  Touched noted_;  ///< since the last Advance
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
  TimePoint divide_again_at_ = TimePoint::max();  ///< damaged records become replaceable with time
  Duration hold_ = kRetryFirst;
  TimePoint paced_to_{};  ///< claims are paid for up to here; in the past: some may be sent
};

}  // namespace baton::core
