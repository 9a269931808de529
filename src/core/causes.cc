#include "core/causes.h"

#include <string>
#include <string_view>

#include "core/pools.h"

namespace baton::core {
namespace {

using Place = AssignmentPool::Place;

/// "zone=b"; empty: the node has no such label.
std::string LabelOf(const MemberFact& node, std::string_view label) {
  const std::string& value = node.Label(label);
  return value.empty() ? std::string() : std::string(label) + "=" + value;
}

// How the node fits the terms: "zone=a,disk=ssd". Leaves out terms for which there is no room.
std::string LabelsOf(const MemberFact& node, const LabelTerms& terms) {
  std::string labels;
  for (const LabelTerm& term : terms) {
    const std::string label = (labels.empty() ? "" : ",") + LabelOf(node, term.label);
    if (labels.size() + label.size() > kLongestCauseDetail) break;
    labels += label;
  }
  return labels;
}

std::uint32_t RuleNumber(const Destination& to) {
  const std::size_t number = to.rules.NumberOf(to.shard);
  return number < to.rules.size() ? static_cast<std::uint32_t>(number + 1) : 0;
}

// Standbys are spread by a label. Without one, the zone tells most.
Cause StandbyCause(const Destination& to) {
  const PlacementRule* rule = to.rules.Of(to.shard);
  std::string place;
  if (rule != nullptr && !rule->spread.empty()) place = LabelOf(to.node, rule->spread);
  if (place.empty()) place = LabelOf(to.node, kZoneLabel);
  return {.kind = CauseKind::kReadyStandby, .rule = RuleNumber(to), .detail = std::move(place)};
}

// The rule wants the node: the first preference that the node fits is the one that decided.
Cause WantedCause(const PlacementRule& rule, const Destination& to) {
  const std::size_t preference = PreferenceOf(rule, to.node);
  if (preference == 0) {
    return {.kind = CauseKind::kRuleRequires,
            .rule = RuleNumber(to),
            .detail = LabelsOf(to.node, rule.require)};
  }
  return {.kind = CauseKind::kRulePrefers,
          .rule = RuleNumber(to),
          .detail = LabelsOf(to.node, rule.prefer[preference - 1])};
}

}  // namespace

Cause CauseOf(const AssignmentInput& input, const PlannedClaim& claim, const Destination& to) {
  const AssignmentShard& shard = input.shards[claim.shard.value];
  if (shard.standby == claim.to) return StandbyCause(to);
  if (shard.avoids == kNobody && shard.prefers == claim.to) return {.kind = CauseKind::kLedBefore};
  const PlacementRule* rule = to.rules.Of(to.shard);
  if (shard.pool == 0 || rule == nullptr) return {.kind = CauseKind::kHasRoom};
  return WantedCause(*rule, to);
}

Cause CauseOf(const AssignmentInput& input, const PlannedMove& move, const Destination& to) {
  const AssignmentMember& from = input.members[move.from];
  const std::uint32_t pool = input.shards[move.shard.value].pool;
  const PlacementRule* rule = to.rules.Of(to.shard);
  const bool ruled = pool != 0 && rule != nullptr;
  const Place place = ruled ? input.pools[pool - 1].members[move.from] : Place::kWanted;
  if (place == Place::kForbidden) {
    return {.kind = CauseKind::kRuleForbids, .rule = RuleNumber(to), .detail = from.id};
  }
  if (from.draining) return {.kind = CauseKind::kDrain, .detail = from.id};
  // A node of weight 0 gives all its shards away, whatever the rules prefer.
  const bool less_wanted = place == Place::kAllowed && from.weight > 0;
  if (less_wanted && PreferenceOf(*rule, to.node) > 0) return WantedCause(*rule, to);
  return {.kind = CauseKind::kBalance};
}

}  // namespace baton::core
