// The checkers' part for the group's placement rules: I13.
//
// A claim and a transfer compare the config, so what counts is the config at the moment of their
// commit. They don't compare labels: a write whose sender did not know yet that an operator took a
// label away may still be committed. One leadership may begin against the rules: the last leader,
// in its living session, replaces a damaged record.
//
// At rest, each shard is led by a node that its rule wants. Of the nodes that live, have a weight
// and don't drain, these are the ones that fit `require`, and of these the ones of the earliest
// preference that some node fits.
#include <algorithm>

#include "sim/checkers.h"

namespace baton::sim {
void Checkers::NoteLabels(const MemberFact& member) {
  if (!member.present || member.readability != Readability::kReadable) return;
  auto& said = said_[member.session];
  if (said.empty() || said.back().second.labels != member.labels) {
    said.emplace_back(world_.now(), member);
  }
}

void Checkers::NoteSettings(const ConfigFact& after) {
  const bool readable = after.present && after.readability == Readability::kReadable;
  if (!readable || after.shards != options_.shards) return;
  NoteFailover(after.failover);
  if (placement_ != after.placement) placement_changed_at_ = world_.now();
  placement_ = after.placement;
}

void Checkers::CheckPlacement(ShardId shard, const RecordFact& before, const RecordFact& after,
                              int origin) {
  if (after.leader.empty()) return;
  const bool damaged = before.present && before.readability != Readability::kReadable;
  const std::optional<SessionRef>& last = shards_[shard.value].last_readable;
  if (damaged && last && last->session == after.session) return;
  const auto rule = std::find_if(placement_.begin(), placement_.end(),
                                 [&](const PlacementRule& each) { return each.CountsFor(shard); });
  if (rule == placement_.end()) return;
  ++observed_.placed;
  if (rule->require.empty()) return;
  const auto& said = said_[after.session];
  if (!said.empty() && said.back().second.Fits(rule->require)) return;
  const std::optional<TimePoint> sent = FirstSent(keyspace_.ShardKey(shard), origin);
  for (std::size_t i = 1; i < said.size(); ++i) {  // what it said before, until when
    const bool knew = !sent || Knew(origin, *sent, said[i].first);
    if (knew || !said[i - 1].second.Fits(rule->require)) continue;
    ++observed_.outran_a_label;
    return;
  }
  Violation("I13", Text(shard) + " went to " + after.leader + ", and the rules want " +
                       TermWords(rule->require));
}

void Checkers::CheckPlaced() {
  const core::View truth = Truth();
  if (SomeNodeFails()) return;
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    const RecordFact& record = RecordOf(ShardId{s});
    const auto rule =
        std::find_if(placement_.begin(), placement_.end(),
                     [&](const PlacementRule& each) { return each.CountsFor(ShardId{s}); });
    // A shard that failed elsewhere stays where it was tried last.
    if (rule == placement_.end() || record.reason == Reason::kCallbackTimeout) continue;
    // The number of the first preference that it fits, after them all if none, nothing if forbidden
    const auto place = [&](const MemberFact& node) -> std::optional<std::ptrdiff_t> {
      if (!node.Fits(rule->require)) return std::nullopt;
      const auto fits = [&](const LabelTerms& terms) { return node.Fits(terms); };
      return std::find_if(rule->prefer.begin(), rule->prefer.end(), fits) - rule->prefer.begin();
    };
    std::optional<std::ptrdiff_t> best;
    for (const auto& [id, member] : truth.members()) {
      if (!member.Live() || member.weight == 0 || truth.Draining(member)) continue;
      const auto its = place(member);
      if (its && (!best || *its < *best)) best = its;
    }
    const MemberFact* const leader = truth.member(record.leader);
    if (!best || leader == nullptr) continue;
    ++observed_.placed_at_rest;
    if (place(*leader) == best) continue;
    Violation("I13", "at rest " + Text(ShardId{s}) + " is led by " + record.leader +
                         ", which its rule " + (place(*leader) ? "prefers less" : "forbids"));
  }
}

}  // namespace baton::sim
