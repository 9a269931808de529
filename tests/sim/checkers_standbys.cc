#include "sim/checkers_standbys.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "core/options.h"
#include "etcd/records.h"
#include "sim/checkers.h"

namespace baton::sim {
namespace {

// The application's word reaches the core by then, if the process runs.
constexpr Duration kHeardWithin = milliseconds(1);
// A process says what was so at most a second ago, by its own clock, or before it was stopped.
constexpr Duration kSaidOf = milliseconds(1200);

std::string OfShard(ShardId shard) { return "shard " + std::to_string(shard.value); }

// The number of the rule's first preference that the node fits; if it fits none, the number after
// them all.
std::ptrdiff_t PreferenceOf(const PlacementRule& rule, const MemberFact& node) {
  const auto fits = [&](const LabelTerms& terms) { return node.Fits(terms); };
  return std::find_if(rule.prefer.begin(), rule.prefer.end(), fits) - rule.prefer.begin();
}

// Of the nodes that fit what the rule requires, those of the earliest preference.
std::vector<const MemberFact*> WantedBy(const PlacementRule& rule,
                                        std::vector<const MemberFact*> nodes) {
  std::erase_if(nodes, [&](const MemberFact* node) { return !node->Fits(rule.require); });
  std::ptrdiff_t best = std::ssize(rule.prefer);
  for (const MemberFact* node : nodes) best = std::min(best, PreferenceOf(rule, *node));
  std::erase_if(nodes, [&](const MemberFact* node) { return PreferenceOf(rule, *node) > best; });
  return nodes;
}

}  // namespace

// ---- callbacks ----

StandbyChecker::Role StandbyChecker::RoleOf(const Process& process, ShardId shard) const {
  const auto found = roles_.find({process.number(), shard});
  return found != roles_.end() ? found->second.role : Role::kNone;
}

void StandbyChecker::Called(const Process& process, ShardId shard, core::CallbackKind kind,
                            TimePoint now) {
  const Role before = RoleOf(process, shard);
  const auto becomes = [&](Role role) { roles_[{process.number(), shard}] = {role, now}; };
  const std::string who = process.Name() + "'s application ";
  switch (kind) {
    case core::CallbackKind::kStandby:
      if (before == Role::kLeads) report_(who + "leads " + OfShard(shard) + " and is a standby");
      if (before == Role::kStandsBy) report_(who + "stands by twice for " + OfShard(shard));
      return becomes(Role::kStandsBy);
    case core::CallbackKind::kStandbyEnded:
      if (before != Role::kStandsBy) {
        report_(who + "ends to stand by for " + OfShard(shard) + ", and did not");
      }
      return becomes(Role::kNone);
    case core::CallbackKind::kPrepare: {
      const auto ready = process.standbys().ReadySince(shard);
      if (!ready || *ready + kHeardWithin >= process.dispatcher().asked_at()) return;
      return report_(who + "is ready for " + OfShard(shard) + ", and is to prepare it");
    }
    case core::CallbackKind::kAcquired: return becomes(Role::kLeads);
    case core::CallbackKind::kLost: return becomes(Role::kNone);
    case core::CallbackKind::kReleasing:
    case core::CallbackKind::kSuspended:
    case core::CallbackKind::kResumed: return;
  }
}

void StandbyChecker::Leaves(const Process& process) {
  for (const auto& [place, since] : roles_) {
    if (place.first != process.number() || since.role != Role::kStandsBy) continue;
    report_(process.Name() + " ends, and its application still stands by for " +
            OfShard(place.second));
  }
}

void StandbyChecker::CheckSaid(const Process& process, const MemberFact& said) {
  if (!process.core().options().has_listener) return;
  const TimePoint least = process.RanSince(kSaidOf);
  for (const ShardId shard : said.ready) {
    const auto last = process.standbys().LastReady(shard);
    if (last && *last >= least) continue;
    const auto found = roles_.find({process.number(), shard});
    const bool leads = found != roles_.end() && found->second.role == Role::kLeads;
    const bool lately = found != roles_.end() && found->second.at >= least;
    if (leads || lately) continue;
    report_(process.Name() + " says that it is ready for " + OfShard(shard) +
            ", and its application did not say so");
  }
}

// ---- what etcd has ----

void StandbyChecker::NoteGroup(const core::View& truth, TimePoint now) {
  std::vector<SessionRef> may;
  for (const MemberFact* member : ReplicaOracle::MayStandBy(truth)) {
    may.push_back({member->node, member->session});
  }
  if (may != may_stand_by_ || truth.rules().placement() != rules_) {
    may_stand_by_ = std::move(may);
    rules_ = truth.rules().placement();
    changed_before_ = std::exchange(changed_at_, now);
  }
  std::set<Place> says;
  for (const auto& [node, member] : truth.members()) {
    if (!member.Live()) continue;
    for (const ShardId shard : member.ready) says.insert({shard, node});
  }
  for (const Place& place : says_) {
    if (says.contains(place)) continue;
    said_until_[place] = said_at_[place.first] = now;
  }
  for (const Place& place : says) {
    if (!says_.contains(place)) said_at_[place.first] = now;
  }
  says_ = std::move(says);
  std::map<Place, TimePoint> ready;
  replicas_ = oracle_.Replicas(truth);
  for (std::uint32_t s = 0; s < truth.shard_count(); ++s) {
    for (const NodeId& node : replicas_[s]) {
      const Place place(ShardId{s}, node);
      if (!says_.contains(place) || truth.member(node)->failing) continue;
      const auto known = ready_since_.find(place);
      ready[place] = known != ready_since_.end() ? known->second : now;
    }
  }
  ready_since_ = std::move(ready);
}

void StandbyChecker::NoteVacancies(bool some, TimePoint now) {
  if (some == vacancies_) return;
  vacancies_ = some;
  (some ? vacancies_since_ : no_vacancies_since_) = now;
}

bool StandbyChecker::CheckClaim(const Claim& claim) const {
  // Clocks' rates differ by less than a twentieth.
  if (!vacancies_ || claim.sent >= vacancies_since_ + core::kPassOverAfter * 19 / 20) return false;
  if (!claim.knew(vacancies_since_, no_vacancies_since_)) return false;
  // The death itself may be the last change.
  const TimePoint changed = changed_at_ >= vacancies_since_ ? changed_before_ : changed_at_;
  if (!claim.knew(vacancies_since_, changed)) return false;
  const Place own(claim.shard, claim.by);
  const auto said = said_until_.find(own);
  const bool lately = said != said_until_.end() && !claim.knew(vacancies_since_, said->second);
  if (!says_.contains(own) && lately) return false;
  // Of the ready ones the first decides. The claimer may be one that comes before it, or itself.
  for (const NodeId& node : replicas_.at(claim.shard.value)) {
    const auto since = ready_since_.find({claim.shard, node});
    const bool is_ready = since != ready_since_.end();
    if (node == claim.by && is_ready) return true;
    if (!is_ready || !claim.knew(vacancies_since_, since->second) || !claim.steady(node)) continue;
    report_(OfShard(claim.shard) + " was claimed by " + claim.by + ", and " + node +
            " is a ready standby" + (says_.contains(own) ? " before it" : ""));
    return true;
  }
  return false;
}

// ---- at rest ----

std::string StandbyChecker::Unsettled(const core::View& truth, const Processes& processes) const {
  const ReplicaOracle::ByShard standbys = oracle_.Standbys(truth);
  for (const auto& process : processes) {
    if (!process->alive() || process->leaving() || process->halted()) continue;
    std::string differs = DiffersAt(truth, standbys, *process);
    if (!differs.empty()) return process->Name() + differs;
  }
  return {};
}

std::string StandbyChecker::DiffersAt(const core::View& truth,
                                      const ReplicaOracle::ByShard& standbys,
                                      const Process& process) const {
  const MemberFact* member = truth.member(process.node());
  if (member == nullptr || !member->Live()) return " is no member";
  const bool listens = process.core().options().has_listener;
  for (std::uint32_t s = 0; s < truth.shard_count(); ++s) {
    const ShardId shard{s};
    const std::vector<NodeId>& nodes = standbys[s];
    const bool should = std::find(nodes.begin(), nodes.end(), process.node()) != nodes.end();
    const bool does = RoleOf(process, shard) == Role::kStandsBy;
    if (listens && should && !does) return " does not stand by for " + OfShard(shard);
    if (listens && !should && does) return " stands by for " + OfShard(shard);
    const bool ready = listens ? process.standbys().ReadySince(shard).has_value() : should;
    if (ready == member->ReadyFor(shard)) continue;
    return (ready ? " does not say that it is ready for " : " says that it is ready for ") +
           OfShard(shard);
  }
  return {};
}

// ---- the checkers' other parts ----

void Checkers::NoteStandbys(const std::vector<Fact>& facts) {
  const bool asked = std::any_of(placement_.begin(), placement_.end(),
                                 [](const PlacementRule& rule) { return rule.standbys > 0; });
  standbys_asked_ = standbys_asked_ || asked;
  if (!standbys_asked_) return;
  observed_.groups_with_standbys = 1;
  const bool group = std::any_of(facts.begin(), facts.end(), [](const Fact& fact) {
    return std::holds_alternative<MemberFact>(fact) || std::holds_alternative<PolicyFact>(fact) ||
           std::holds_alternative<ConfigFact>(fact);
  });
  if (group) standbys_.NoteGroup(Truth(), world_.now());
  const bool vacant = std::any_of(shards_.begin(), shards_.end(), [&](const ShardHistory& seen) {
    const RecordFact& record = seen.record;
    return !record.present || record.readability != Readability::kReadable ||
           record.leader.empty() || !Alive(record.leader, record.session);
  });
  standbys_.NoteVacancies(vacant, world_.now());
}

void Checkers::CheckReadyFirst(ShardId shard, const RecordFact& before, const RecordFact& after,
                               int origin) {
  const bool died = after.reason == Reason::kLeaseExpired || after.reason == Reason::kProcessDied;
  if (!standbys_asked_ || !died || before.leader.empty()) return;
  if (standbys_.SaysReady(shard, after.leader)) ++observed_.claims_by_standbys;
  NoteHeir(shard, after.leader);
  if (failover_.policy != FailoverPolicy::kImmediate || failover_.lock_delay > Duration{0}) return;
  if (world_.faults()[static_cast<std::size_t>(Fault::kDeletionLost)] > 0) return;
  const std::optional<TimePoint> sent = FirstSent(keyspace_.ShardKey(shard), origin);
  const auto seen = seen_.find(origin);
  if (!sent || seen == seen_.end()) return;
  const bool judged = standbys_.CheckClaim(
      {.shard = shard,
       .by = after.leader,
       .sent = *sent,
       .knew = [&](TimePoint at, TimePoint since) { return Knew(origin, at, since); },
       .steady =
           [&](const NodeId& node) {
             const auto came = seen->second.came.find(node);
             return came != seen->second.came.end() &&
                    came->second.short_at_most < core::kFlapsAfter;
           }});
  if (judged) ++observed_.claims_judged;
}

// Each record that a process sends of itself for the first time.
void Checkers::CheckSaid(const Process& process, const pb::PutRequest& put) {
  if (!standbys_asked_ || put.key() != keyspace_.MemberKey(process.node())) return;
  const MemberFact said = etcd::DecodeMember(put.value(), process.node());
  if (said.readability != Readability::kReadable) return;
  standbys_.CheckSaid(process, said);
}

std::string Checkers::StandbysUnsettled() const { return standbys_.Unsettled(Truth(), processes_); }

// ---- the death of a leader, at rest ----

const char* ToString(HeirRule rule) {
  switch (rule) {
    case HeirRule::kStandbys: return "standbys";
    case HeirRule::kSpread: return "spread";
    case HeirRule::kPrefer: return "prefer";
    case HeirRule::kRequire: return "require";
    case HeirRule::kSpreadAndPrefer: return "spread and prefer";
  }
  return "unknown";
}

void Checkers::ExpectHeirs(const NodeId& dead, HeirRule rule) {
  heirs_.clear();
  took_it_.clear();
  heirs_since_ = world_.now();
  heirs_by_ = rule;
  ++observed_.heir_deaths[static_cast<std::size_t>(rule)];
  const core::View truth = Truth();
  const ReplicaOracle::ByShard replicas = standbys_.Replicas(truth, dead);
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    if (shards_[s].record.leader != dead) continue;
    const auto heir = std::find_if(replicas[s].begin(), replicas[s].end(), [&](const NodeId& node) {
      return truth.member(node)->ReadyFor(ShardId{s});
    });
    if (heir == replicas[s].end()) continue;
    CheckOrder(ShardId{s}, *heir, truth);
    heirs_[ShardId{s}] = *heir;
  }
}

// The meaning of the replicas' order, judged without them: unless they are kept apart by a label,
// no ready standby fits an earlier preference than the first one.
void Checkers::CheckOrder(ShardId shard, const NodeId& heir, const core::View& truth) {
  const PlacementRule* const rule = truth.rules().Of(shard);
  if (rule == nullptr || !rule->spread.empty()) return;
  const std::ptrdiff_t of_heir = PreferenceOf(*rule, *truth.member(heir));
  for (const auto& [node, member] : truth.members()) {
    const bool ready = member.Live() && member.ReadyFor(shard) && node != RecordOf(shard).leader;
    if (!ready || PreferenceOf(*rule, member) >= of_heir) continue;
    Violation("I14", heir + " comes first for " + Text(shard) + ", and the rule prefers " + node +
                         ", which is ready, too");
  }
}

// The node that claims a dead leader's shard, unless the nodes that are ready for it changed
// meanwhile: a node may still load it when the leader dies, and be ready when the lease ends.
void Checkers::NoteHeir(ShardId shard, const NodeId& leader) {
  if (standbys_.SaidSince(shard, held_since_)) changed_heirs_.insert(shard);
  if (heirs_.contains(shard) && !standbys_.SaidSince(shard, heirs_since_)) {
    took_it_.try_emplace(shard, leader);
  }
}

void Checkers::JudgeHeirs(bool at_once) {
  for (const auto& [shard, leader] : std::exchange(took_it_, {})) {
    if (!at_once) continue;
    ++observed_.heirs_judged[static_cast<std::size_t>(heirs_by_)];
    const NodeId& heir = heirs_.at(shard);
    if (leader == heir) continue;
    Violation("I14", "at rest " + Text(shard) + " was claimed by " + leader + ", and " + heir +
                         " was its first ready standby");
  }
  heirs_.clear();
}

// If a rule keeps nodes from taking over, or a node gets nothing because activations fail there, a
// node may hold more than that if it is the first ready standby of more. Otherwise a hash divides
// among all nodes, and that has to be even enough by itself (docs/placement.md).
std::map<NodeId, std::size_t> Checkers::MostHeldAfter(const NodeId& dead) {
  held_since_ = world_.now();
  changed_heirs_.clear();
  const core::View truth = Truth();
  const ReplicaOracle::ByShard replicas = standbys_.Replicas(truth, dead);
  std::map<NodeId, std::size_t> holds;
  std::map<NodeId, std::size_t> kept;
  std::size_t vacant = 0;
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    NodeId next = shards_[s].record.leader;
    ++(next == dead ? vacant : kept[next]);
    if (next == dead) {
      const auto ready = std::find_if(
          replicas[s].begin(), replicas[s].end(),
          [&](const NodeId& node) { return truth.member(node)->ReadyFor(ShardId{s}); });
      next = ready != replicas[s].end() ? *ready : NodeId{};
    }
    ++holds[next];
  }
  const bool any_node =
      !SomeNodeFails() &&
      std::all_of(placement_.begin(), placement_.end(), [](const PlacementRule& rule) {
        return rule.require.empty() && rule.prefer.empty() && rule.spread.empty();
      });
  std::vector<const MemberFact*> others;
  for (const auto& [node, member] : truth.members()) {
    if (member.Live() && member.weight > 0 && node != dead) others.push_back(&member);
  }
  // A rule that leaves out nodes counts for all shards here (standbys.cc).
  std::vector<const MemberFact*> wanted = others;
  if (!placement_.empty()) wanted = WantedBy(placement_.front(), others);
  std::size_t weights = 0;
  for (const MemberFact* member : wanted) weights += member->weight;
  std::map<NodeId, std::size_t> most;
  for (const MemberFact* member : others) {
    const bool wants = std::find(wanted.begin(), wanted.end(), member) != wanted.end();
    const std::size_t share = wants ? options_.shards * member->weight * 5 / 4 / weights + 3 : 0;
    most[member->node] = any_node ? share : std::max(share, holds[member->node]);
    if (kept[member->node] + vacant > most[member->node]) ++observed_.held_judged;
  }
  return most;
}

void Checkers::CheckHeld(const std::map<NodeId, std::size_t>& most) {
  for (const auto& [node, bound] : most) {
    std::size_t holds = 0;
    for (std::uint32_t s = 0; s < options_.shards; ++s) {
      const bool counts =
          RecordOf(ShardId{s}).leader == node && !changed_heirs_.contains(ShardId{s});
      holds += counts ? 1 : 0;
    }
    if (holds <= bound) continue;
    Violation("I14", node + " holds " + std::to_string(holds) + " shards after a death, and " +
                         std::to_string(bound) + " at most are its part and its standbys");
  }
}

}  // namespace baton::sim
