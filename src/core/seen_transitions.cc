#include "core/seen_transitions.h"

#include <utility>

namespace baton::core {

std::optional<Transition> SeenTransitions::Look(const View& view, ShardId shard) {
  if (!view.InForce(shard)) return std::nullopt;
  const RecordFact& record = view.record(shard);
  const bool noted = std::exchange(noted_[shard.value], record.term()) == record.term();
  if (noted || !begun_) return std::nullopt;
  Transition transition{.shard = shard,
                        .reason = record.reason,
                        .from = record.previous,
                        .to = record.leader,
                        .term = record.term(),
                        .actor = record.actor,
                        .cause = record.cause};
  transition.elect = view.LastGap(shard);
  return transition;
}

}  // namespace baton::core
