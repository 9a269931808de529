// The checkers' part for the group's placement rules: I13.
//
// A claim and a transfer compare the config, so what counts is the config at the moment of their
// commit. No simulated operator sets a session's labels, and one who damages its record changes
// none. One leadership may begin against the rules: the last leader, in its living session,
// replaces a damaged record.
#include <algorithm>

#include "sim/checkers.h"

namespace baton::sim {

void Checkers::NoteSettings(const ConfigFact& after) {
  const bool readable = after.present && after.readability == Readability::kReadable;
  if (!readable || after.shards != options_.shards) return;
  NoteFailover(after.failover);
  placement_ = after.placement;
}

void Checkers::CheckPlacement(ShardId shard, const RecordFact& before, const RecordFact& after) {
  if (after.leader.empty()) return;
  const bool damaged = before.present && before.readability != Readability::kReadable;
  const std::optional<SessionRef>& last = shards_[shard.value].last_readable;
  if (damaged && last && last->session == after.session) return;
  const auto rule = std::find_if(placement_.begin(), placement_.end(),
                                 [&](const PlacementRule& each) { return each.CountsFor(shard); });
  if (rule == placement_.end()) return;
  ++observed_.placed;
  if (said_[after.session].Fits(rule->require)) return;
  Violation("I13", Text(shard) + " went to " + after.leader + ", and the rules want " +
                       TermWords(rule->require));
}

}  // namespace baton::sim
