#include "core/failed_targets.h"

#include <algorithm>

#include "core/may_claim.h"
#include "core/move_limits.h"

namespace baton::core {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::minutes(1);

// The node, of those that may begin to lead a shard of this pool, with the fewest shards for its
// weight; kNobody: all of them are avoided.
MemberIndex LeastLoaded(const AssignmentInput& input, std::uint32_t pool,
                        const std::vector<std::uint64_t>& held, const std::set<NodeId>& avoided) {
  MemberIndex best = kNobody;
  for (MemberIndex i = 0; i < input.members.size(); ++i) {
    const AssignmentMember& member = input.members[i];
    if (EligibilityOf(member.weight, member.draining) != Eligibility::kYes) continue;
    if (avoided.contains(member.id)) continue;
    const bool forbidden =
        pool != 0 && input.pools[pool - 1].members[i] == AssignmentPool::Place::kForbidden;
    if (forbidden) continue;
    const bool less = best == kNobody ||
                      (held[i] + 1) * input.members[best].weight < (held[best] + 1) * member.weight;
    if (less) best = i;
  }
  return best;
}

}  // namespace

bool Misplaced(const View& view, ShardId shard) {
  const MemberFact* leader = view.member(view.record(shard).leader);
  return leader != nullptr && !view.rules().Allow(shard, *leader);
}

bool MustGo(const View& view, ShardId shard) {
  const MemberFact* leader = view.member(view.record(shard).leader);
  return leader != nullptr && (view.Draining(*leader) || !view.rules().Allow(shard, *leader));
}

void FailedTargets::Pause::Begin(TimePoint now, Duration least) {
  length = std::clamp(2 * length, kFirstPause, kLongestPause);
  until = now + std::max(length, least);
}

bool FailedTargets::Note(const Context& context, const MoveFact& move) {
  const bool prepared = move.phase == MovePhase::kPrepared;  // its leader does not let go
  if (prepared && MustGo(context.view, move.shard)) return false;
  Failed& failed = shards_[move.shard];
  if (failed.ends != move.ends) {
    failed = Failed{};
    failed.ends = move.ends;
  }
  if (failed.move == move.revision) return false;
  failed.move = move.revision;
  if (MustGo(context.view, move.shard)) {
    failed.nodes.insert(move.to);
  } else {
    const PolicyFact* order = context.view.policy({PolicyKind::kRebalance});
    failed.order = order != nullptr ? order->revision : Revision{};
    failed.balance.Begin(context.now, MoveLimitsOf(context.view, context.options).cooldown);
  }
  return true;
}

TimePoint FailedTargets::RestsUntil(const View& view, ShardId shard) const {
  const auto found = shards_.find(shard);
  if (found == shards_.end() || found->second.ends != view.record(shard).term()) {
    return TimePoint::min();
  }
  const Failed& failed = found->second;
  if (MustGo(view, shard)) return failed.all_failed.until;
  const PolicyFact* order = view.policy({PolicyKind::kRebalance});
  if (order == nullptr) return failed.balance.until;
  return failed.order == order->revision ? TimePoint::max() : TimePoint::min();
}

void FailedTargets::ForgetOver(const View& view) {
  std::erase_if(shards_, [&](const auto& entry) {
    return view.record(entry.first).term() != entry.second.ends;
  });
  for (auto& [shard, failed] : shards_) {
    if (MustGo(view, shard)) continue;
    failed.nodes.clear();
    failed.all_failed = Pause{};
  }
}

TimePoint FailedTargets::Avoid(const Context& context, const AssignmentOfView& assignment,
                               std::vector<PlannedMove>& moves) {
  TimePoint next = TimePoint::max();
  ForgetOver(context.view);
  if (shards_.empty()) return next;
  const AssignmentInput& input = assignment.input;
  std::vector<std::uint64_t> held(input.members.size());
  for (const AssignmentShard& shard : input.shards) {
    const MemberIndex holder = shard.moving_to != kNobody ? shard.moving_to : shard.leader;
    if (holder != kNobody) ++held[holder];
  }
  std::erase_if(moves, [&](PlannedMove& move) {
    const auto found = shards_.find(assignment.shard_of[move.shard.value]);
    const bool avoids = move.urgent && found != shards_.end() &&
                        found->second.nodes.contains(input.members[move.to].id);
    if (avoids) {
      const std::uint32_t pool = input.shards[move.shard.value].pool;
      move.to = LeastLoaded(input, pool, held, found->second.nodes);
    }
    if (move.to != kNobody) {
      ++held[move.to];
      return false;
    }
    found->second.nodes.clear();
    found->second.all_failed.Begin(context.now, Duration{0});
    next = std::min(next, found->second.all_failed.until);
    return true;
  });
  return next;
}

}  // namespace baton::core
