#include "core/fact_store.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"

namespace baton::test {
namespace {

std::string Padded(ShardId shard) {
  char text[16];
  std::snprintf(text, sizeof text, "%06u", shard.value);
  return text;
}

std::string MemberKey(const NodeId& node) { return "members/" + node; }
std::string RipeKey(const NodeId& node) { return "ripe/" + node; }
std::string MoveKey(ShardId shard) { return "moves/" + Padded(shard); }

const std::map<PolicyKind, std::string> kPolicyWords{{PolicyKind::kChanged, "changed"},
                                                     {PolicyKind::kDrain, "drain/"},
                                                     {PolicyKind::kExpectedNodes, "expected-nodes"},
                                                     {PolicyKind::kLimits, "limits"},
                                                     {PolicyKind::kPause, "pause"},
                                                     {PolicyKind::kRebalance, "rebalance"}};

std::string PolicyKey(const PolicyName& policy) {
  return "policy/" + kPolicyWords.at(policy.kind) + policy.node;
}

ShardId ShardOf(const std::string& key) {
  return ShardId{static_cast<std::uint32_t>(std::stoul(key.substr(key.find('/') + 1)))};
}

// Sets the revisions and the version that a stored fact carries.
void Stamp(Fact& fact, Revision mod, Revision create, std::uint32_t version) {
  if (auto* member = std::get_if<MemberFact>(&fact)) {
    member->create_revision = create;
    member->revision = mod;
  } else if (auto* record = std::get_if<ShardRecordFact>(&fact)) {
    record->record.revision = mod;
    record->record.create_revision = create;
    record->record.version = version;
  } else if (auto* balancer = std::get_if<BalancerFact>(&fact)) {
    balancer->record.revision = mod;
  } else if (auto* move = std::get_if<MoveFact>(&fact)) {
    move->revision = mod;
  } else if (auto* config = std::get_if<ConfigFact>(&fact)) {
    config->revision = mod;
  } else if (auto* policy = std::get_if<PolicyFact>(&fact)) {
    policy->revision = mod;
  } else if (auto* ripe = std::get_if<RipeFact>(&fact)) {
    ripe->revision = mod;
  } else {
    std::get<DeathFact>(fact).revision = mod;
  }
}

// A record as a write of ours shows it once it is done: src/etcd knows no more of it.
Fact AsWritten(Fact fact) {
  if (auto* record = std::get_if<ShardRecordFact>(&fact)) {
    record->record.create_revision = {};
    record->record.version = 0;
  }
  return fact;
}

Fact RecordOf(std::optional<ShardId> shard, RecordFact record) {
  record.present = true;
  if (!shard) return BalancerFact{std::move(record)};
  return ShardRecordFact{*shard, std::move(record)};
}

}  // namespace

std::string ShardKey(std::optional<ShardId> shard) {
  return shard ? "shards/" + Padded(*shard) : "balancer";
}

PolicyName PolicyNamed(const std::string& text) {
  const auto found = std::find_if(kPolicyWords.begin(), kPolicyWords.end(), [&](const auto& entry) {
    return text.starts_with(entry.second);
  });
  BATON_CHECK(found != kPolicyWords.end());
  return {found->first, text.substr(found->second.size())};
}

std::string KeyOf(const Fact& fact) {
  if (const auto* member = std::get_if<MemberFact>(&fact)) return MemberKey(member->node);
  if (const auto* record = std::get_if<ShardRecordFact>(&fact)) return ShardKey(record->shard);
  if (const auto* move = std::get_if<MoveFact>(&fact)) return MoveKey(move->shard);
  if (const auto* policy = std::get_if<PolicyFact>(&fact)) return PolicyKey(policy->name);
  if (const auto* ripe = std::get_if<RipeFact>(&fact)) return RipeKey(ripe->node);
  if (std::holds_alternative<DeathFact>(fact)) return "died";
  return std::holds_alternative<BalancerFact>(fact) ? "balancer" : "config";
}

// ---- writes ------------------------------------------------------------------------------------

Revision FactStore::ModOf(const std::string& key) const {
  const auto found = stored_.find(key);
  return found != stored_.end() ? found->second.mod : Revision{};
}

bool FactStore::WrittenAfter(const std::string& prefix, Revision revision) const {
  return std::any_of(stored_.begin(), stored_.end(), [&](const auto& entry) {
    return entry.first.starts_with(prefix) && entry.second.mod > revision;
  });
}

bool FactStore::SessionHolds(const SessionGuard& guard) const {
  const auto found = stored_.find(MemberKey(guard.node));
  if (found == stored_.end()) return false;
  return found->second.lease == guard.session && found->second.create == guard.create_revision;
}

FactStore::Item FactStore::PlanClaim(const ClaimBatch& write, const Claim& claim) const {
  const std::string key = ShardKey(claim.shard);
  Item item{.holds = ModOf(key) == claim.read, .effects = {}, .read_back = {key}};
  if (claim.dead) {
    if (Live(*claim.dead)) item.holds = false;
    item.read_back.push_back(MemberKey(claim.dead->node));
  }
  RecordFact record;
  record.leader = write.guard.node;
  record.session = write.guard.session;
  record.directory = write.directory;
  record.previous = claim.previous;
  record.reason = claim.reason;
  if (claim.quarantined) record.actor = kDamagedRecordActor;
  record.cause = claim.cause;
  record.tally = claim.tally;
  record.unknown_fields = claim.unknown_fields;
  item.effects.push_back({key, RecordOf(claim.shard, std::move(record)), {}});
  if (claim.quarantined) {
    item.effects.push_back({"quarantine/" + key + ":" + *claim.quarantined, std::nullopt, {}});
  }
  return item;
}

FactStore::Item FactStore::PlanTransfer(const NodeId& from, const Transfer& transfer) const {
  const std::string key = ShardKey(transfer.shard);
  const std::string move = MoveKey(transfer.shard);
  RecordFact record;
  record.leader = transfer.to.node;
  record.session = transfer.to.session;
  record.directory = transfer.directory;
  record.previous = from;
  record.reason = transfer.reason;
  record.actor = transfer.actor;
  record.cause = transfer.cause;
  record.tally = transfer.tally;
  record.unknown_fields = transfer.unknown_fields;
  const bool holds = ModOf(key).value == transfer.term.value && ModOf(move) == transfer.move_read &&
                     Live(transfer.to);
  return {
      .holds = holds,
      .effects = {{key, RecordOf(transfer.shard, std::move(record)), {}}, {move, std::nullopt, {}}},
      .read_back = {key, move, MemberKey(transfer.to.node)}};
}

FactStore::Item FactStore::PlanOwn(const std::string& key, Term term, Fact fact) const {
  return {.holds = ModOf(key).value == term.value,
          .effects = {{key, std::move(fact), {}}},
          .read_back = {key}};
}

FactStore::Item FactStore::PlanForceRelease(const ForceRelease& write) const {
  RecordFact record;
  record.session = write.dead.session;
  record.previous = write.dead.node;
  record.reason = Reason::kOperator;
  record.actor = write.actor;
  record.tally = write.tally;
  record.released = write.stopped;
  record.unknown_fields = write.unknown_fields;
  const std::string key = ShardKey(write.shard);
  Item item = PlanOwn(key, write.term, RecordOf(write.shard, std::move(record)));
  if (write.quarantined) {
    item.effects.push_back({"quarantine/" + key + ":" + *write.quarantined, std::nullopt, {}});
  }
  if (write.dead.session.value == 0) return item;
  item.holds = item.holds && !Live(write.dead);
  item.read_back.push_back(MemberKey(write.dead.node));
  return item;
}

FactStore::Item FactStore::PlanRipe(const RipeMark& write) const {
  const std::string key = RipeKey(write.node);
  if (write.up_to.value == 0) return {ModOf(key) == write.read, {{key, std::nullopt, {}}}, {key}};
  RipeFact ripe;
  ripe.present = true;
  ripe.node = write.node;
  ripe.up_to = write.up_to;
  return {ModOf(key) == write.read, {{key, ripe, {}}}, {key}};
}

FactStore::Item FactStore::PlanPolicy(const PolicyWrite& write) const {
  const std::string key = PolicyKey(write.policy.name);
  Effect effect{key, std::nullopt, {}};
  if (write.policy.present) effect.put = write.policy;
  PolicyFact mark;
  mark.name = {PolicyKind::kChanged};
  mark.present = true;
  const std::string changed = KeyOf(mark);
  return {ModOf(key) == write.read && ModOf(changed) == write.changed,
          {std::move(effect), Effect{changed, mark, {}}},
          {key, changed}};
}

// If the put's lease is gone, etcd refuses it whatever the guards say, and reads nothing back.
FactStore::Item FactStore::PlanMember(const MemberFact& member, bool holds) const {
  Item item{.holds = holds && LeaseLives(member.session), .effects = {}, .read_back = {}};
  if (LeaseLives(member.session)) item.read_back.push_back(MemberKey(member.node));
  item.effects.push_back({MemberKey(member.node), member, member.session});
  return item;
}

FactStore::Plan FactStore::MakePlan(const Write& write) const {
  Plan plan;
  const auto under = [&](const SessionGuard& guard) {
    plan.shared_holds = plan.shared_holds && SessionHolds(guard);
    plan.shared_read_back.push_back(MemberKey(guard.node));
  };
  if (const auto* create = std::get_if<ConfigCreate>(&write)) {
    plan.items.push_back({!Has("config"), {{"config", create->config, {}}}, {"config"}});
  } else if (const auto* mend = std::get_if<ConfigMend>(&write)) {
    under(mend->guard);
    const Revision now = Has("config") ? ModOf("config") : Revision{};
    plan.items.push_back({now == mend->read, {{"config", mend->config, {}}}, {"config"}});
  } else if (const auto* change = std::get_if<ConfigChange>(&write)) {
    const bool holds =
        ModOf("config") == change->read && !WrittenAfter("members/", change->members);
    plan.items.push_back({holds, {{"config", change->config, {}}}, {"config"}});
  } else if (const auto* member = std::get_if<MemberCreate>(&write)) {
    plan.items.push_back(PlanMember(member->member, !Has(MemberKey(member->member.node))));
  } else if (const auto* takeover = std::get_if<MemberTakeover>(&write)) {
    const bool holds = ModOf(MemberKey(takeover->member.node)) == takeover->read;
    plan.items.push_back(PlanMember(takeover->member, holds));
  } else if (const auto* update = std::get_if<MemberUpdate>(&write)) {
    plan.items.push_back(PlanMember(update->member, SessionHolds(update->guard)));
  } else if (const auto* claims = std::get_if<ClaimBatch>(&write)) {
    under(claims->guard);
    if (claims->config) {
      plan.shared_holds = plan.shared_holds && ModOf("config") == *claims->config;
      plan.shared_read_back.push_back("config");
    }
    for (const Claim& claim : claims->claims) plan.items.push_back(PlanClaim(*claims, claim));
  } else if (const auto* transfers = std::get_if<TransferBatch>(&write)) {
    for (const Transfer& transfer : transfers->transfers) {
      plan.items.push_back(PlanTransfer(transfers->from, transfer));
      plan.items.back().holds = plan.items.back().holds && ModOf("config") == transfer.config;
      plan.items.back().read_back.push_back("config");
    }
  } else if (const auto* abandons = std::get_if<AbandonBatch>(&write)) {
    for (const Abandon& abandon : abandons->abandons) {
      const std::string key = ShardKey(abandon.shard);
      plan.items.push_back({.holds = ModOf(key).value == abandon.term.value,
                            .effects = {{MoveKey(abandon.shard), std::nullopt, {}}},
                            .read_back = {key}});
    }
  } else if (const auto* resigns = std::get_if<ResignBatch>(&write)) {
    for (const Resign& resign : resigns->resigns) {
      RecordFact record;
      record.session = resigns->from.session;
      record.resigned_by = record.previous = resigns->from.node;
      record.reason = resign.reason;
      record.tally = resign.tally;
      record.released = resign.released;
      record.directory = resigns->directory;
      record.unknown_fields = resign.unknown_fields;
      plan.items.push_back(
          PlanOwn(ShardKey(resign.shard), resign.term, RecordOf(resign.shard, std::move(record))));
    }
  } else if (const auto* moves = std::get_if<MoveBatch>(&write)) {
    if (moves->target) under(*moves->target);
    if (moves->balancer_term) {
      plan.shared_holds =
          plan.shared_holds && ModOf("balancer").value == moves->balancer_term->value;
      plan.shared_read_back.push_back("balancer");
    }
    if (moves->policies) {
      PolicyFact mark;
      mark.name = {PolicyKind::kChanged};
      const std::string changed = KeyOf(mark);
      plan.shared_holds = plan.shared_holds && ModOf(changed) == *moves->policies;
      plan.shared_read_back.push_back(changed);
    }
    for (const MoveWrite& move : moves->moves) {
      const std::string key = MoveKey(move.move.shard);
      Effect effect{key, std::nullopt, {}};
      if (move.move.present) effect.put = move.move;
      plan.items.push_back({ModOf(key) == move.read, {std::move(effect)}, {key}});
    }
  } else if (const auto* end = std::get_if<SessionEnd>(&write)) {
    const std::string key = MemberKey(end->dead.node);
    DeathFact death;
    death.present = true;
    death.node = end->dead.node;
    death.session = end->dead.session;
    death.detect = end->detect;
    plan.items.push_back({.holds = Has(key) && stored_.at(key).lease == end->dead.session,
                          .effects = {{key, std::nullopt, {}}, {"died", death, {}}},
                          .read_back = {key}});
  } else if (const auto* ripe = std::get_if<RipeMark>(&write)) {
    plan.items.push_back(PlanRipe(*ripe));
  } else if (const auto* release = std::get_if<ForceRelease>(&write)) {
    plan.items.push_back(PlanForceRelease(*release));
  } else {
    plan.items.push_back(PlanPolicy(std::get<PolicyWrite>(write)));
  }
  return plan;
}

bool FactStore::Puts(const Write& write) const {
  const Plan plan = MakePlan(write);
  return std::any_of(plan.items.begin(), plan.items.end(), [](const Item& item) {
    return std::any_of(item.effects.begin(), item.effects.end(),
                       [](const Effect& effect) { return effect.put.has_value(); });
  });
}

WriteResult FactStore::Execute(const Write& write) {
  const Plan plan = MakePlan(write);
  WriteResult result;
  const auto read = [&](const std::vector<std::string>& keys) {
    for (const std::string& key : keys) result.read_back.push_back(Get(key));
  };
  if (!plan.shared_holds) {
    result.outcome = Outcome::kRefused;
    result.items.assign(plan.items.size(), Outcome::kRefused);
    result.revision = revision_;
    result.detail = "the session or leadership that guards the write is gone";
    read(plan.shared_read_back);
    return result;
  }
  result.outcome = Outcome::kDone;
  const Revision at{revision_.value + 1};
  bool changed = false;
  for (const Item& item : plan.items) {
    result.items.push_back(item.holds ? Outcome::kDone : Outcome::kRefused);
    if (!item.holds) {
      result.outcome = Outcome::kRefused;
      result.detail = "a guard was false";
      continue;
    }
    for (const Effect& effect : item.effects) {
      if (effect.key.starts_with("quarantine/")) {
        quarantined_.push_back(effect.key);
      } else if (effect.put || Has(effect.key)) {
        result.read_back.push_back(AsWritten(Apply(effect, at)));
        changed = true;
      } else {
        result.read_back.push_back(AbsentFact(effect.key, revision_));
      }
    }
  }
  if (changed) {
    revision_ = at;
    ++commits_;
  }
  for (const Item& item : plan.items) {
    if (!item.holds) read(item.read_back);
  }
  result.revision = revision_;
  return result;
}

Fact FactStore::Apply(const Effect& effect, Revision at) {
  Fact fact = effect.put ? *effect.put : AbsentFact(effect.key, at);
  if (effect.put) {
    const auto found = stored_.find(effect.key);
    const bool there = found != stored_.end();
    const Revision create = there ? found->second.create : at;
    const std::uint32_t version = there ? found->second.version + 1 : 1;
    if (auto* member = std::get_if<MemberFact>(&fact)) {
      member->present = true;
      member->lease = effect.lease;
    }
    Stamp(fact, at, create, version);
    stored_[effect.key] = Stored{fact, at, create, version, effect.lease};
  } else {
    stored_.erase(effect.key);
  }
  log_.emplace_back(at, fact);
  return fact;
}

void FactStore::Put(Fact fact, SessionId lease) {
  const Revision at{revision_.value + 1};
  const std::string key = KeyOf(fact);
  Apply({key, std::move(fact), lease}, at);
  revision_ = at;
}

void FactStore::Delete(const std::string& key) {
  if (!Has(key)) return;
  const Revision at{revision_.value + 1};
  Apply({key, std::nullopt, {}}, at);
  revision_ = at;
}

// ---- leases ------------------------------------------------------------------------------------

bool FactStore::Grant(SessionId lease, std::chrono::seconds ttl, TimePoint now) {
  return leases_.emplace(lease, Lease{ttl, now + ttl}).second;
}

std::chrono::seconds FactStore::KeepAlive(SessionId lease, TimePoint now) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return std::chrono::seconds(0);
  found->second.expires = now + found->second.ttl;
  return found->second.ttl;
}

bool FactStore::Revoke(SessionId lease) {
  if (leases_.erase(lease) == 0) return false;
  std::vector<std::string> keys;
  for (const auto& [key, stored] : stored_) {
    if (stored.lease == lease) keys.push_back(key);
  }
  for (const std::string& key : keys) Delete(key);
  return true;
}

void FactStore::Expire(TimePoint now, Duration late) {
  std::vector<SessionId> over;
  for (const auto& [id, lease] : leases_) {
    if (now >= lease.expires + late) over.push_back(id);
  }
  for (const SessionId id : over) Revoke(id);
}

TimePoint FactStore::NextExpiry() const {
  TimePoint next = TimePoint::max();
  for (const auto& [id, lease] : leases_) next = std::min(next, lease.expires);
  return next;
}

void FactStore::ElectLeader(TimePoint now) {
  ++raft_term;
  for (auto& [id, lease] : leases_) lease.expires = now + lease.ttl;
}

// ---- reading -----------------------------------------------------------------------------------

Fact FactStore::AbsentFact(const std::string& key, Revision revision) const {
  Fact fact = ConfigFact{};
  if (key.starts_with("members/")) {
    MemberFact member;
    member.node = key.substr(8);
    fact = member;
  } else if (key.starts_with("shards/")) {
    fact = ShardRecordFact{.shard = ShardOf(key), .record = {}};
  } else if (key.starts_with("moves/")) {
    MoveFact move;
    move.shard = ShardOf(key);
    fact = move;
  } else if (key.starts_with("policy/")) {
    PolicyFact policy;
    policy.name = PolicyNamed(key.substr(7));
    fact = policy;
  } else if (key.starts_with("ripe/")) {
    RipeFact ripe;
    ripe.node = key.substr(5);
    fact = ripe;
  } else if (key == "balancer") {
    fact = BalancerFact{};
  }
  Stamp(fact, revision, Revision{}, 0);
  return fact;
}

Fact FactStore::Get(const std::string& key) const {
  const auto found = stored_.find(key);
  return found != stored_.end() ? found->second.fact : AbsentFact(key, revision_);
}

RecordFact FactStore::Record(ShardId shard) const {
  return std::get<ShardRecordFact>(Get(ShardKey(shard))).record;
}
RecordFact FactStore::Balancer() const { return std::get<BalancerFact>(Get("balancer")).record; }
MemberFact FactStore::Member(const NodeId& node) const {
  return std::get<MemberFact>(Get(MemberKey(node)));
}
std::optional<MoveFact> FactStore::Move(ShardId shard) const {
  if (!Has(MoveKey(shard))) return std::nullopt;
  return std::get<MoveFact>(Get(MoveKey(shard)));
}

std::size_t FactStore::MoveCount() const {
  return static_cast<std::size_t>(
      std::count_if(stored_.begin(), stored_.end(),
                    [](const auto& entry) { return entry.first.starts_with("moves/"); }));
}

bool FactStore::InForce(ShardId shard) const {
  const RecordFact record = Record(shard);
  return record.present && record.readability == Readability::kReadable && !record.leader.empty() &&
         Live({record.leader, record.session});
}

Snapshot FactStore::Read() const {
  Snapshot snapshot{.revision = revision_, .facts = {}};
  for (const auto& [key, stored] : stored_) snapshot.facts.push_back(stored.fact);
  return snapshot;
}

Changes FactStore::ChangesAfter(Revision after) const {
  BATON_CHECK(after >= compacted_);
  Changes changes{.revision = revision_, .facts = {}};
  const auto first =
      std::upper_bound(log_.begin(), log_.end(), after,
                       [](Revision revision, const auto& entry) { return revision < entry.first; });
  for (auto next = first; next != log_.end(); ++next) changes.facts.push_back(next->second);
  return changes;
}

}  // namespace baton::test
