#include "core/rule_sets.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/may_claim.h"

namespace baton::core {
namespace {

constexpr Duration kSettled = std::chrono::seconds(2);
constexpr std::uint64_t kSetsOfAGroup = 20;
constexpr int kChangesOfASet = 4;

std::string Named(ShardId shard) { return "shard " + std::to_string(shard.value); }

}  // namespace

RuledGroup::RuledGroup(std::uint64_t seed) : dice_(seed) {
  view_.Merge(Snapshot{.revision = Revision{last_}, .facts = {}, .wall = {}}, now_);
}

// ---- what changes ----

// Of three labels; often nobody has the value, or two terms exclude each other.
LabelTerms RuledGroup::DrawTerms() {
  LabelTerms terms;
  for (std::uint32_t left = 1 + dice_.Roll(2); left > 0; --left) {
    switch (dice_.Roll(4)) {
      case 0:
        terms.push_back({"zone", {std::string(1, static_cast<char>('a' + dice_.Roll(4)))}});
        break;
      case 1: terms.push_back({"zone", {"a", "b"}}); break;
      case 2: terms.push_back({"disk", {dice_.OneIn(2) ? "ssd" : "nvme"}}); break;
      default: terms.push_back({"node", {NodeName(dice_.Roll(kNodes + 1))}});  // a pin
    }
  }
  return terms;
}

Placement RuledGroup::DrawRules() {
  Placement placement;
  for (std::uint32_t left = dice_.Roll(6); left > 0; --left) {
    PlacementRule rule;
    if (!dice_.OneIn(3)) {
      const std::uint32_t first = dice_.Roll(kShards);
      rule.shards = {{first, first + dice_.Roll(kShards)}};
    }
    if (dice_.OneIn(2)) rule.require = DrawTerms();
    for (std::uint32_t tiers = dice_.Roll(3); tiers > 0; --tiers)
      rule.prefer.push_back(DrawTerms());
    if (dice_.OneIn(2)) rule.standbys = dice_.Roll(kMaxStandbys + 1);
    if (rule.standbys > 0 && dice_.OneIn(2)) rule.spread = dice_.OneIn(2) ? "zone" : "disk";
    if (CheckPlacement({rule})) placement.push_back(std::move(rule));
  }
  return placement;
}

void RuledGroup::Show(Fact fact) {
  view_.Merge(Changes{.revision = Revision{last_}, .facts = {std::move(fact)}}, now_);
}

template <typename Key>
Key RuledGroup::Written(Key key) {
  key.present = true;
  key.revision = Revision{++last_};
  return key;
}

void RuledGroup::ComeOrGo(std::uint32_t number) {
  const NodeId node = NodeName(number);
  const MemberFact* known = view_.member(node);
  MemberFact member;
  member.node = node;
  member.revision = Revision{++last_};
  if (known == nullptr || !known->present || dice_.OneIn(3)) {
    const bool goes_on = known != nullptr && known->present && dice_.OneIn(2);
    if (goes_on) member = *known;
    member = Written(std::move(member));
    if (!goes_on) {
      member.create_revision = member.revision;
      member.lease = member.session = SessionId{last_};
      member.ttl = std::chrono::seconds(10);
      member.zone = std::string(1, static_cast<char>('a' + dice_.Roll(3)));
    }
    member.weight = dice_.OneIn(5) ? 0 : 1 + dice_.Roll(3);
    if (dice_.OneIn(2)) member.labels["disk"] = dice_.OneIn(2) ? "ssd" : "nvme";
    member.state = dice_.OneIn(8) ? MemberState::kDraining : MemberState::kActive;
    member.failing = dice_.OneIn(10);
    member.ready.clear();
    for (std::uint32_t s = 0; s < kShards; ++s) {
      if (dice_.OneIn(3)) member.ready.push_back(ShardId{s});
    }
  }
  Show(std::move(member));
}

void RuledGroup::DrainOrUndrain(const NodeId& node) {
  PolicyFact drain;
  drain.name = {PolicyKind::kDrain, node};
  const bool drained = view_.policy(drain.name) != nullptr;
  drain = Written(std::move(drain));
  drain.present = !drained;
  Show(std::move(drain));
}

// Any node's present or past session, whatever the rules say; or nobody's; or nothing readable.
void RuledGroup::ChangeRecord(ShardId shard) {
  ShardRecordFact fact{.shard = shard, .record = Written(RecordFact{})};
  const NodeId node = NodeName(dice_.Roll(kNodes));
  const MemberFact* member = view_.member(node);
  if (dice_.OneIn(12)) {
    fact.record.readability = Readability::kDamaged;
  } else {
    fact.record.session = member != nullptr && !dice_.OneIn(4) ? member->session : SessionId{1};
    (dice_.OneIn(4) ? fact.record.resigned_by : fact.record.leader) = node;
    if (dice_.OneIn(4)) fact.record.reason = Reason::kCallbackTimeout;
  }
  Show(std::move(fact));
}

void RuledGroup::ChangeSomething() {
  now_ += std::chrono::milliseconds(dice_.Roll(3000));
  switch (dice_.Roll(4)) {
    case 0: return DrainOrUndrain(NodeName(dice_.Roll(kNodes)));
    case 1: return ChangeRecord(ShardId{dice_.Roll(kShards)});
    default: return ComeOrGo(dice_.Roll(kNodes));
  }
}

// Some of the claims.
void RuledGroup::CarryOut(const AssignmentOfView& seen, const Assignment& assignment) {
  for (const PlannedClaim& claim : assignment.claims) {
    if (dice_.OneIn(3)) continue;
    const NodeId& node = seen.input.members[claim.to].id;
    ShardRecordFact fact{.shard = seen.shard_of[claim.shard.value],
                         .record = Written(RecordFact{})};
    fact.record.leader = node;
    fact.record.session = view_.member(node)->session;
    Show(std::move(fact));
  }
}

// ---- what must hold ----

// The assignment hands each vacancy to one node, which may claim it.
std::string RuledGroup::CheckClaims(const AssignmentOfView& seen,
                                    const Assignment& assignment) const {
  std::set<ShardId> claimed;
  for (const PlannedClaim& claim : assignment.claims) {
    const ShardId shard = seen.shard_of[claim.shard.value];
    const NodeId& node = seen.input.members[claim.to].id;
    if (!claimed.insert(shard).second) return Named(shard) + " is given away twice";
    if (!MayClaim(view_, shard, node, kSettled, now_)) {
      return Named(shard) + " is given to " + node + ", which may not claim it";
    }
  }
  const auto somebody_may_lead = [&](ShardId shard) {
    return std::any_of(view_.members().begin(), view_.members().end(), [&](const auto& entry) {
      return EligibilityOf(view_, entry.second) != Eligibility::kNever &&
             view_.rules().Allow(shard, entry.second);
    });
  };
  RulesAsked rules(view_);
  for (std::size_t s = 0; s < seen.shard_of.size(); ++s) {
    const bool somebody = somebody_may_lead(seen.shard_of[s]);
    if (rules.SomebodyMayLead(seen.shard_of[s]) != somebody) {
      return Named(seen.shard_of[s]) + ": the rules, asked once, say something else";
    }
    const bool vacant = seen.input.shards[s].vacant() && somebody;
    if (vacant && !claimed.contains(seen.shard_of[s])) {
      return Named(seen.shard_of[s]) + " is vacant, and given to nobody";
    }
  }
  return {};
}

// Moves end leaderships that are in force, and go to other nodes, which the rules allow. A shard
// whose record can't be read counts as led by its last leader.
std::string RuledGroup::CheckMoves(const AssignmentOfView& seen) const {
  const PlanNeeds needs{
      .rules = view_.rules(),
      .term_of = [](ShardId) { return Term{}; },
      .member_of = [this](const NodeId& node) -> const MemberFact& { return *view_.member(node); }};
  for (const MoveFact& move : PlanAll(seen, needs)) {
    const RecordFact& record = view_.record(move.shard);
    const bool readable = record.readability == Readability::kReadable;
    const NodeId& leader =
        readable ? record.leader : view_.LastKnownLeader(move.shard).value_or(SessionRef{}).node;
    if (move.from == move.to || move.from != leader || (readable && !view_.InForce(move.shard))) {
      return Named(move.shard) + " of '" + leader + "' is moved from " + move.from + " to " +
             move.to;
    }
    if (!view_.rules().Allow(move.shard, *view_.member(move.to))) {
      return Named(move.shard) + " is moved to " + move.to + ", which a rule forbids";
    }
  }
  return {};
}

std::string RuledGroup::CheckStandbys(ShardId shard) const {
  const PlacementRule* const rule = view_.rules().Of(shard);
  const std::vector<NodeId> standbys = view_.StandbysOf(shard);
  const MemberFact* const leader = view_.LeaderOf(shard);
  const std::size_t wanted = rule == nullptr ? 0 : rule->standbys;
  // Without a leader all replicas stand by.
  if (standbys.size() > (wanted == 0 ? 0 : wanted + (leader == nullptr ? 1 : 0))) {
    return Named(shard) + " has too many standbys";
  }
  if (std::set(standbys.begin(), standbys.end()).size() != standbys.size()) {
    return Named(shard) + " has a standby twice";
  }
  for (const NodeId& node : standbys) {
    const MemberFact* const member = view_.member(node);
    if (member == nullptr || !member->Live() || !view_.rules().Allow(shard, *member)) {
      return node + " stands by for " + Named(shard) + ", and may not lead it";
    }
    if (leader != nullptr && leader->node == node) return node + " leads and stands by";
    if (!view_.StandsBy(shard, node)) return node + " stands by, and does not";
  }
  return {};
}

std::string RuledGroup::Check() {
  view_.TakeChanges();
  const AssignmentOfView seen = AssignmentFrom(view_, kSettled, now_);
  const Assignment assignment = Assign(seen.input);
  std::string wrong = CheckClaims(seen, assignment);
  if (wrong.empty()) wrong = CheckMoves(seen);
  for (std::uint32_t s = 0; s < kShards && wrong.empty(); ++s) wrong = CheckStandbys(ShardId{s});
  CarryOut(seen, assignment);
  return wrong;
}

std::string RuledGroup::TryRules() {
  ConfigFact config = Written(view_.config());
  config.shards = kShards;
  config.schema = kConfigSchema;
  config.placement = DrawRules();
  Show(std::move(config));
  std::string wrong = Check();
  for (int i = 0; i < kChangesOfASet && wrong.empty(); ++i) {
    ChangeSomething();
    wrong = Check();
  }
  return wrong;
}

std::string RuledGroup::RulesInWords() const {
  std::string words;
  for (const PlacementRule& rule : view_.rules().placement()) {
    words += "\n  ";
    for (const ShardRange& range : rule.shards) {
      words += std::to_string(range.first) + "-" + std::to_string(range.last) + " ";
    }
    words += "require " + TermWords(rule.require);
    for (const LabelTerms& terms : rule.prefer) words += ", prefer " + TermWords(terms);
    words += ", standbys " + std::to_string(rule.standbys) + " " + rule.spread;
  }
  return words;
}

std::string TryRuleSets(std::uint64_t seed, std::uint64_t sets) {
  for (std::uint64_t tried = 0; tried < sets; ++seed) {
    RuledGroup group(seed);
    for (std::uint64_t i = 0; i < kSetsOfAGroup && tried < sets; ++i, ++tried) {
      const std::string wrong = group.TryRules();
      if (wrong.empty()) continue;
      return "seed " + std::to_string(seed) + ", set " + std::to_string(i) + ": " + wrong +
             group.RulesInWords();
    }
  }
  return {};
}

}  // namespace baton::core
