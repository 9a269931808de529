// The checkers' part for the limit of planned moves in flight: the policy's, or else a node's own.
//
// The balancer plans moves, and so does a leader on which shards fail. Each counts the moves that
// can be carried out, and plans no more than the limit has room for. So when such a move is
// committed, these are no more than the limit: this move, and all others that its planner surely
// counted. The planner decided after it last had no write under way, and before it first sent the
// move. It surely counted a move in two cases:
//  - It had planned that move itself, in the same session and no later, and sent it once. It plans
//    again only when the outcome of each earlier plan is definite, and then it knows what it wrote.
//    (A late copy may commit a plan after younger ones. And if it sends a move twice, the second
//    copy may be refused for what all moves of a write share. Then it does not hear of the first.)
//  - It surely knew of the move when it decided.
// In both cases it must also have known ever since all that decides whether the move can be carried
// out: the sessions and labels of leader and target, and the rules.
//
// The limit is the greatest one of those that may have been the last that it knew when it decided.
#include <algorithm>

#include "sim/checkers.h"

namespace baton::sim {

void Checkers::NoteLimits(const PolicyFact& after) {
  const std::uint32_t ordered = after.present ? after.max_moves : 0;
  if (ordered == max_moves_.back().second) return;
  max_moves_.emplace_back(world_.now(), ordered);
}

void Checkers::NoteMovable(const MemberFact& before, const MemberFact& after) {
  const bool same = before.present == after.present && before.Live() == after.Live() &&
                    before.lease == after.lease && before.session == after.session &&
                    before.zone == after.zone && before.labels == after.labels;
  if (!same) movable_changed_at_[after.node] = world_.now();
}

// If the session of the process is over, a late copy may be committed of what it decided before.
std::optional<Checkers::PlannedBy> Checkers::WhoPlanned(const MoveFact& planned, int origin) const {
  const Process* const process = planned.reason != Reason::kOperator ? Of(origin) : nullptr;
  if (process == nullptr || !process->alive()) return std::nullopt;
  const bool balancer = planned.reason != Reason::kCallbackTimeout;
  const SessionId session = balancer ? balancer_.session : RecordOf(planned.shard).session;
  const core::Session& own = process->core().session();
  if (!own.member() || own.id() != session) return std::nullopt;
  return PlannedBy{.process = origin, .session = session, .balancer = balancer};
}

void Checkers::NotePlan(Move& planned, int origin) {
  planned.planned_at = world_.now();
  planned.by = WhoPlanned(planned.fact, origin);
  planned.sent = planned.by ? SentBy(origin, keyspace_.MoveKey(planned.fact.shard)) : nullptr;
  // A request may be delivered twice, and a process plans a move again that is gone. Nobody knows
  // which of both this is.
  if (planned.sent != nullptr && !committed_plans_.insert(planned.sent).second) planned.by.reset();
}

bool Checkers::SurelyInFlight(const Move& move, const Move& planned) const {
  if (!move.fact.present || !LiveMove(move.fact)) return false;
  const auto rule =
      std::find_if(placement_.begin(), placement_.end(),
                   [&](const PlacementRule& each) { return each.CountsFor(move.fact.shard); });
  if (rule != placement_.end() && !members_.at(move.fact.to).Fits(rule->require)) return false;
  TimePoint changed = placement_changed_at_;
  for (const NodeId& node : {move.fact.from, move.fact.to}) {
    const auto found = movable_changed_at_.find(node);
    if (found != movable_changed_at_.end()) changed = std::max(changed, found->second);
  }
  const int process = planned.by->process;
  const bool own = move.by == planned.by && move.sent != nullptr && move.sent->copies == 1 &&
                   move.sent->first <= planned.sent->first;
  if (own && Knew(process, move.sent->decided_after, changed)) return true;
  return Knew(process, planned.sent->decided_after, std::max(changed, move.planned_at));
}

std::uint32_t Checkers::MostMoves(const Move& planned) const {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < max_moves_.size(); ++i) {
    const bool last = i + 1 == max_moves_.size();
    const bool over =
        !last && Knew(planned.by->process, planned.sent->decided_after, max_moves_[i + 1].first);
    const std::uint32_t ordered = max_moves_[i].second;
    if (!over) most = std::max(most, ordered > 0 ? ordered : options_.max_moves);
  }
  return most;
}

void Checkers::CheckLimit(const Move& planned) {
  if (!planned.by || planned.sent == nullptr) return;
  // Then a process may go on with a limit, or a move, that was deleted.
  if (world_.faults()[static_cast<std::size_t>(Fault::kDeletionLost)] > 0) return;
  const auto in_flight =
      static_cast<std::uint32_t>(std::count_if(moves_.begin(), moves_.end(), [&](const auto& kept) {
        return &kept.second == &planned || SurelyInFlight(kept.second, planned);
      }));
  const std::uint32_t most = MostMoves(planned);
  observed_.plans_at_limit += in_flight == most ? 1 : 0;
  observed_.plans_at_ordered_limit += in_flight == most && max_moves_.back().second == most ? 1 : 0;
  if (in_flight <= most) return;
  Violation("I9", "the move of " + Text(planned.fact.shard) + " was planned by " +
                      Of(planned.by->process)->Name() + " as one of " + std::to_string(in_flight) +
                      " in flight, and the limit is " + std::to_string(most));
}

}  // namespace baton::sim
