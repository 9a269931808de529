#include "core/orphans.h"

#include <algorithm>

#include "core/assignment_of_view.h"

namespace baton::core {

std::vector<Transition> Orphans::Advance(Context& context) {
  std::vector<Transition> lost;
  const bool later = !outdated_ && context.now < look_at_;
  if (later) {
    context.WakeAt(look_at_);
    return lost;
  }
  outdated_ = false;
  look_at_ = TimePoint::max();
  const View& view = context.view;
  std::erase_if(counted_, [&](const auto& entry) {
    return view.LastTerm(entry.first) != entry.second || view.InForce(entry.first);
  });
  if (view.vacancies() == 0 || !view.InForce(view.balancer())) return lost;
  RulesAsked rules(view);
  if (view.failover().policy != FailoverPolicy::kNever && rules.SomebodyMayLeadEach()) return lost;
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) Look(context, ShardId{s}, rules, lost);
  context.WakeAt(look_at_);
  return lost;
}

void Orphans::Look(const Context& context, ShardId shard, RulesAsked& rules,
                   std::vector<Transition>& lost) {
  const View& view = context.view;
  const auto since = view.VacantSince(shard);
  if (!since) return;
  const Term term = view.LastTerm(shard);
  const RecordFact& record = view.record(shard);
  const bool readable = record.present && record.readability == Readability::kReadable;
  if (term.value == 0 || !readable || counted_.contains(shard)) return;
  const bool owned = !OwnerOf(view, shard).empty();
  const FailoverPolicy policy = owned ? view.failover().policy : FailoverPolicy::kImmediate;
  if (policy != FailoverPolicy::kNever && rules.SomebodyMayLead(shard)) return;
  TimePoint due = *since + context.options.settle;
  if (policy == FailoverPolicy::kAfter) due = std::max(due, OthersFrom(view, shard));
  if (context.now < due) {
    look_at_ = std::min(look_at_, due);
    return;
  }
  counted_[shard] = term;
  lost.push_back({.shard = shard,
                  .reason = VacancyReason(view, record),
                  .from = record.leader.empty() ? record.resigned_by : record.leader,
                  .to = {},
                  .term = term});
}

}  // namespace baton::core
