#include "core/view.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/check.h"
#include "core/may_claim.h"
#include "core/snapshot_keys.h"

namespace baton::core {
namespace {

// Whether `fact` replaces `known`: the revision decides.
template <typename T>
bool Newer(const T& known, const T& fact) {
  return fact.revision > known.revision;
}

// Whether the facts differ in nothing but their revision and the shards with a ready standby.
bool SaysOnlyOtherReadiness(const MemberFact& before, MemberFact after) {
  if (before.ready == after.ready) return false;
  after.ready = before.ready;
  after.revision = before.revision;
  return after == before;
}

}  // namespace

View::View(std::uint32_t shards, NodeId self)
    : self_(std::move(self)),
      records_(shards),
      move_absent_at_(shards),
      leaders_(shards),
      led_by_(shards, LeaderIndex::kNobody),
      vacant_since_(shards, TimePoint::max()),
      unled_since_(shards, TimePoint::max()),
      last_gap_(shards, Duration{0}),
      last_term_(shards),
      deaths_(shards),
      changed_flag_(shards, false) {}

// How the fact's key is known, and how the fact has it. Moves, policies and the balancer's record
// are not compared.
View::WentBack View::KnownAndFound(const ShardRecordFact& fact) const {
  if (fact.shard.value >= shard_count()) return {};
  return {records_[fact.shard.value].revision, fact.record.revision};
}

View::WentBack View::KnownAndFound(const MemberFact& fact) const {
  const MemberFact* known = member(fact.node);
  return {known != nullptr ? known->revision : Revision{}, fact.revision};
}

void View::CompareRevisions(const Snapshot& snapshot) {
  for (const Fact& fact : snapshot.facts) {
    const WentBack pair =
        std::visit([this](const auto& of_its_kind) { return KnownAndFound(of_its_kind); }, fact);
    if (pair.found >= pair.known || pair.known > snapshot.revision || went_back_) continue;
    went_back_ = pair;
  }
}

void View::Merge(const Snapshot& snapshot, TimePoint now) {
  CompareRevisions(snapshot);
  snapshot_wall_ = snapshot.wall;
  revision_ = std::max(revision_, snapshot.revision);
  MergeAll(snapshot.facts, Source::kRead, now);
  MakeAbsent(snapshot, now);
  snapshot_wall_.reset();
  read_before_ = std::exchange(read_at_, now);
  snapshot_revision_ = std::max(snapshot_revision_, snapshot.revision);
  ForgetAbsent();
  UpdateStandbys(snapshot.facts.size());
  if (!complete_) {
    complete_ = true;
    absences_.NoteComplete(now);
    changes_.members = changes_.policy = changes_.balancer = changes_.config = true;
    changes_.standbys.clear();
    changes_.shards.clear();  // the loop adds them in order
    for (std::uint32_t s = 0; s < shard_count(); ++s) {
      UpdateVacancy(ShardId{s}, now);
      changed_flag_[s] = true;
      changes_.shards.push_back(ShardId{s});
    }
  }
}

void View::Merge(const Changes& changes, TimePoint now) {
  revision_ = std::max(revision_, changes.revision);
  MergeAll(changes.facts, Source::kWatch, now);
  UpdateStandbys(changes.facts.size());
}

void View::Merge(const std::vector<Fact>& facts, TimePoint now) {
  MergeAll(facts, Source::kRead, now);
  UpdateStandbys(facts.size());
}

// A key that the snapshot does not contain is absent at its revision, unless a later fact is known.
void View::MakeAbsent(const Snapshot& snapshot, TimePoint now) {
  const SnapshotKeys keys(snapshot, shard_count());
  const Revision at = snapshot.revision;
  for (std::uint32_t s = 0; s < shard_count(); ++s) {
    if (!keys.records[s]) {
      ShardRecordFact absent{.shard = ShardId{s}, .record = {}};
      absent.record.revision = at;
      MergeOne(absent, Source::kRead, now);
    }
    if (!keys.moves[s]) MergeOne(MoveFact{.shard = ShardId{s}, .revision = at}, Source::kRead, now);
  }
  std::vector<MemberFact> gone;
  for (const auto& [node, member] : members_) {
    if (keys.members.contains(node)) continue;
    gone.push_back(MemberFact{.node = node, .revision = at});
  }
  for (const MemberFact& absent : gone) MergeOne(absent, Source::kRead, now);
  for (auto& [name, policy] : policies_) {
    if (keys.policies.contains(name) || policy.revision >= at) continue;
    if (policy.present) changes_.policy = standbys_outdated_ = true;
    policy = PolicyFact{};
    policy.name = name;
    policy.revision = at;
  }
  const auto forgotten = std::erase_if(ripe_, [&](const auto& entry) {
    return !keys.ripe.contains(entry.first) && entry.second.revision < at;
  });
  if (forgotten > 0) changes_.policy = true;
  if (!keys.balancer) {
    BalancerFact absent;
    absent.record.revision = at;
    MergeFact(absent, Source::kRead, now);
  }
  if (!keys.config) {
    ConfigFact absent;
    absent.revision = at;
    MergeFact(absent, Source::kRead, now);
  }
}

// Node and policy names come and go for ever, so absent ones are forgotten after a snapshot. For a
// name without an entry, facts older than the snapshot are ignored. The absence of our own key is
// kept, because it ends a session.
void View::ForgetAbsent() {
  const auto absent = [&](const auto& fact) {
    return !fact.present && fact.revision <= snapshot_revision_;
  };
  std::erase_if(policies_, [&](const auto& entry) { return absent(entry.second); });
  const auto gone = [&](const auto& entry) { return absent(entry.second) && entry.first != self_; };
  std::erase_if(members_, gone);
  const auto damaged = damage_.LastLeaders();
  const bool forgot = sessions_.Forget([&](const NodeId& node) {
    const bool named = leaders_.NumberOf(node) != LeaderIndex::kNobody || damaged.contains(node);
    return !members_.contains(node) && !named;
  });
  changes_.members = changes_.members || forgot;
}

// Deaths first: the end of a session and its proof come in one message, in any order.
void View::MergeAll(const std::vector<Fact>& facts, Source source, TimePoint now) {
  if (source == Source::kWatch) MergeDeaths(facts, now);
  for (const Fact& fact : facts) MergeFact(fact, source, now);
}

// The end may be known before: then what waited for a lock delay need not any more.
void View::MergeDeaths(const std::vector<Fact>& facts, TimePoint now) {
  for (const DeathFact* death : ProvenDeaths(facts)) {
    if (!sessions_.NoteProvenDead({death->node, death->session}, death->detect)) continue;
    MarkLeaderChanged(death->node, now);
    changes_.members = true;
  }
}

void View::MergeFact(const Fact& fact, Source source, TimePoint now) {
  std::visit([&](const auto& of_its_kind) { MergeOne(of_its_kind, source, now); }, fact);
}

void View::MergeOne(const BalancerFact& fact, Source, TimePoint) {
  if (!Newer(balancer_, fact.record)) return;
  balancer_ = fact.record;
  changes_.balancer = true;
}

void View::MergeOne(const PolicyFact& fact, Source, TimePoint) {
  const auto added = policies_.try_emplace(fact.name);
  PolicyFact& known = added.first->second;
  if (added.second) known.revision = snapshot_revision_;
  if (!Newer(known, fact)) return;
  known = fact;
  changes_.policy = standbys_outdated_ = true;  // the policy may drain a node
}

void View::MergeOne(const RipeFact& fact, Source, TimePoint) {
  RipeFact& known = ripe_[fact.node];
  if (!Newer(known, fact)) return;
  known = fact;
  changes_.policy = true;  // as an operator's order: it may let vacancies be claimed
}

void View::MergeOne(const ConfigFact& fact, Source, TimePoint) {
  if (!Newer(config_, fact)) return;
  config_ = fact;
  changes_.config = true;
  const ConfigFact& last = fitting_config_;
  const bool readable = fact.present && fact.readability == Readability::kReadable;
  const bool same = fact.hash == last.hash && fact.cluster_id == last.cluster_id;
  if (!readable || (!same && last.present)) return;
  if (fact.schema > kConfigSchema || fact.shards != shard_count()) return;
  if (fact.placement != last.placement) {
    rules_.Set(fact.placement, shard_count());
    standbys_outdated_ = true;
  }
  fitting_config_ = fact;
}

void View::MergeOne(const ShardRecordFact& fact, Source source, TimePoint now) {
  if (fact.shard.value >= shard_count()) return;
  RecordFact& known = records_[fact.shard.value];
  if (!Newer(known, fact.record)) {
    if (known.version == 0 && fact.record.revision == known.revision) {
      known.version = fact.record.version;
      known.create_revision = fact.record.create_revision;
    }
    if (deaths_.Uncertain(fact.shard)) UpdateDeaths(fact.shard, now);
    if (UnledSince(fact.shard)) return;
    UpdateUnled(fact.shard, false, now);
    if (UnledSince(fact.shard)) Touch(fact.shard);
    return;
  }
  const bool absent_before = !known.present;
  const bool readable_now =
      !fact.record.present || fact.record.readability == Readability::kReadable;
  if (readable_now) {
    damage_.NoteReadable(fact.shard);
  } else {
    NoteDamage(fact, source, now);
  }
  const bool changed = fact.record.present || !absent_before;
  const bool goes_on = !snapshot_wall_ && DeathBackoff::GoesOn(known.tally, fact.record.tally);
  known = fact.record;
  deaths_.NoteRecord(fact.shard, DeathBackoff::BeganAt(known.tally, snapshot_wall_, now),
                     goes_on ? DeathBackoff::Turn::kNext : DeathBackoff::Turn::kFirst);
  leaders_.Set(fact.shard, known.leader);
  UpdateVacancy(fact.shard, now);
  UpdateUnled(fact.shard, true, now);
  const bool locks = failover().lock_delay > Duration{0} && last_term_[fact.shard.value].value > 0;
  if (changed || locks) Touch(fact.shard);
}

// The watch shows every change, so the leader known here is the last one. It also is if a read
// shows that the key was written exactly once since. Otherwise others may have led in between, as
// they may by a record of a newer schema. A read does not tell when a session ended, and may come
// before news of one that has begun: so the leader must be known to live.
void View::NoteDamage(const ShardRecordFact& found, Source source, TimePoint now) {
  const RecordFact& known = record(found.shard);
  const bool alive = SessionAlive({known.leader, known.session});
  const bool again = known.readability == Readability::kDamaged;
  const bool next =
      source == Source::kWatch || (found.record.DirectlyFollows(known) && (alive || again));
  const bool newer = known.readability == Readability::kNewerSchema;
  if (newer || !next) return damage_.NoteAfterGap(found.shard, now);
  damage_.NoteNext(found.shard, known, alive, now);
}

void View::MergeOne(const MoveFact& fact, Source, TimePoint) {
  if (fact.shard.value >= shard_count()) return;
  if (fact.revision <= move_revision(fact.shard)) return;
  const bool changed = fact.present || move(fact.shard) != nullptr;
  if (fact.present) {
    moves_[fact.shard] = fact;
  } else {
    moves_.erase(fact.shard);
    move_absent_at_[fact.shard.value] = fact.revision;
  }
  if (changed) Touch(fact.shard);
}

void View::MergeOne(const MemberFact& fact, Source source, TimePoint now) {
  // If nothing is known of the node, it was absent in the last snapshot.
  if (!members_.contains(fact.node) && fact.revision <= snapshot_revision_) return;
  MemberFact& known = members_[fact.node];
  if (!Newer(known, fact)) return;
  const MemberFact before = known;
  known = fact;
  live_members_ += fact.Live() ? 1 : 0;
  live_members_ -= before.Live() ? 1 : 0;
  if (!before.present && !fact.present) return;
  NoteReady(before, fact);
  if (SaysOnlyOtherReadiness(before, fact)) return;
  standbys_outdated_ = true;
  // Which replica has nothing to do may depend on the labels of the leader.
  if (!standbys_.empty() && (before.labels != fact.labels || before.zone != fact.zone)) {
    leaders_.ForEachOf(fact.node, [this](ShardId led) { changes_.standbys.push_back(led); });
  }
  NoteMembership(before, fact, now);
  NoteLeaseEnd(before, fact, source, now);
  NoteDeparture(before, fact, source, now);
  changes_.members = true;
  changes_.changed_members.push_back(fact.node);
  if (before.lease != fact.lease || before.present != fact.present) {
    MarkLeaderChanged(fact.node, now);
  }
}

void View::NoteReady(const MemberFact& before, const MemberFact& after) {
  std::vector<ShardId> differ;
  std::set_symmetric_difference(before.ready.begin(), before.ready.end(), after.ready.begin(),
                                after.ready.end(), std::back_inserter(differ));
  std::erase_if(differ, [&](ShardId shard) { return shard.value >= shard_count(); });
  changes_.standbys.insert(changes_.standbys.end(), differ.begin(), differ.end());
}

// The nodes that may stand by are those that may begin to lead and don't drain.
void View::UpdateStandbys(std::size_t merged) {
  standbys_updated_ = standbys_updated_ || standbys_outdated_;
  if (!std::exchange(standbys_outdated_, false)) return;
  std::vector<const MemberFact*> nodes;
  for (const auto& [node, member] : members_) {
    if (EligibilityOf(*this, member) == Eligibility::kYes) nodes.push_back(&member);
  }
  NoteStandbys(standbys_.Update(rules_, shard_count(), nodes, Standbys::AtOnceBeside(merged)));
}

void View::NoteMembership(const MemberFact& before, const MemberFact& after, TimePoint now) {
  if (after.present && after.lease.value != 0) sessions_.NoteAlive({after.node, after.lease});
  const bool changed_hands = before.present && after.present && before.lease != after.lease;
  // A takeover writes over the key, so its create revision stays. If it changed, the key was
  // deleted and created again, unseen by this node.
  // A key without a lease was put by hand, which proves nothing.
  const bool taken_over =
      changed_hands && after.lease.value != 0 && before.create_revision == after.create_revision;
  if (taken_over) sessions_.NoteProvenDead({after.node, before.lease});
  const bool ended = before.present && (!after.present || changed_hands);
  const bool began = after.present && (!before.present || changed_hands);
  if (ended) {
    const Steadiness::End end{.in_order = before.Leaves(), .ttl = before.ttl};
    if (steadiness_.NoteEnded(after.node, end, now)) changes_.flapping.push_back(after.node);
  }
  if (ended) absences_.NoteEnded(after.node, failover().delay, now);
  if (began) absences_.NoteBegan(after.node, complete_ ? current_at_ : TimePoint::min(), now);
  if (began) steadiness_.NoteBegan(after.node, complete_ ? now : TimePoint::min());
  if ((ended || began) && !steadiness_.Flaps(after.node)) membership_changed_at_ = now;
}

// A read does not tell at which revision the lease ended: others may have come and gone by then.
void View::NoteLeaseEnd(const MemberFact& before, const MemberFact& after, Source source,
                        TimePoint now) {
  const bool goes_on = after.present && before.lease == after.lease;
  if (!before.present || goes_on) return;
  sessions_.ForgetEnd(after.node);
  if (source == Source::kRead) return;
  sessions_.NoteEnd({after.node, before.lease},
                    {.revision = after.revision, .seen_at = now, .ttl = before.ttl});
}

// A node that leaves in order says so, and has given everything away by then. If the key's create
// revision changed, its deletion was missed.
void View::NoteDeparture(const MemberFact& before, const MemberFact& after, Source source,
                         TimePoint now) {
  if (after.present) departures_.NoteBack(after.node);
  const bool goes_on = after.present && before.lease == after.lease;
  if (!before.present || before.lease.value == 0 || goes_on) return;
  Departure departure{.node = after.node, .session = before.lease, .seen_at = now};
  departure.led = NamedBy({after.node, before.lease});
  departure.back = after.present;
  if (ProvenDead({after.node, before.lease}) || before.state == MemberState::kDead) {
    departure.why = Reason::kProcessDied;
  } else if (before.Leaves() && departure.led == 0) {
    departure.why = Reason::kShutdown;
  } else if (source == Source::kWatch && !after.present) {
    departure.why = Reason::kLeaseExpired;
  }
  departures_.Add(std::move(departure));
}

std::uint32_t View::NamedBy(const SessionRef& ref) const {
  std::uint32_t count = 0;
  leaders_.ForEachOf(ref.node, [&](ShardId shard) {
    const RecordFact& known = record(shard);
    count += known.present && known.session == ref.session ? 1 : 0;
  });
  return count;
}

// The liveness of every leadership that names this node may have changed.
void View::MarkLeaderChanged(const NodeId& node, TimePoint now) {
  const auto changed = [&](ShardId shard) {
    UpdateVacancy(shard, now);
    Touch(shard);
  };
  leaders_.ForEachOf(node, changed);
  for (const auto& [shard, damage] : damage_.all()) {
    const bool over = damage.last_leader && !SessionAlive(*damage.last_leader);
    if (over) damage_.NoteOver(shard, now);
    changed(shard);
  }
  if (balancer_.leader == node) changes_.balancer = true;
}

// A number is given to another node only when no shard names the one before.
void View::CountLed(ShardId shard) {
  LeaderIndex::Number& leader = led_by_[shard.value];
  if (leader != LeaderIndex::kNobody) --led_[leader];
  leader = InForce(record(shard)) ? leaders_.Of(shard) : LeaderIndex::kNobody;
  led_.resize(leaders_.numbers());
  if (leader != LeaderIndex::kNobody) ++led_[leader];
}

std::uint32_t View::LedBy(const NodeId& node) const {
  const LeaderIndex::Number number = leaders_.NumberOf(node);
  return number != LeaderIndex::kNobody ? led_.at(number) : 0;
}

void View::UpdateVacancy(ShardId shard, TimePoint now) {
  TimePoint& since = vacant_since_[shard.value];
  CountLed(shard);
  if (InForce(shard)) {
    last_gap_[shard.value] = since == TimePoint::max() ? Duration{0} : now - since;
    last_term_[shard.value] = record(shard).term();
    if (since != TimePoint::max()) --vacancies_;
    since = TimePoint::max();
  } else if (since == TimePoint::max()) {
    since = now;
    ++vacancies_;
  }
  UpdateUnled(shard, false, now);
  UpdateDeaths(shard, now);
}

void View::UpdateUnled(ShardId shard, bool new_record, TimePoint now) {
  TimePoint& since = unled_since_[shard.value];
  if (InForce(shard) || !MembersAsNewAs(record(shard))) {
    since = TimePoint::max();
  } else if (new_record || since == TimePoint::max()) {
    since = now;
  }
}

// Whether what is known of the record's leader is as new as the record. Otherwise its session may
// have begun and ended since.
bool View::MembersAsNewAs(const RecordFact& record) const {
  if (record.leader.empty() || record.revision <= revision_) return true;
  const MemberFact* leader = member(record.leader);
  return leader != nullptr && record.revision <= leader->revision;
}

void View::UpdateDeaths(ShardId shard, TimePoint now) {
  const RecordFact& known = record(shard);
  const bool named =
      known.present && known.readability == Readability::kReadable && !known.leader.empty();
  const SessionRef session{known.leader, known.session};
  if (!named || InForce(shard) || SessionAlive(session)) return deaths_.NoteNoDeath(shard);
  deaths_.NoteEnded(
      shard, known,
      {.seen_at = now, .seen_alive = SeenAlive(session), .certain = MembersAsNewAs(known)});
}

void View::Touch(ShardId shard) {
  if (changed_flag_[shard.value]) return;
  changed_flag_[shard.value] = true;
  changes_.shards.push_back(shard);
}

ViewChanges View::TakeChanges() {
  ViewChanges taken = std::move(changes_);
  changes_ = ViewChanges{};
  for (const ShardId shard : taken.shards) changed_flag_[shard.value] = false;
  taken.Sort();
  return taken;
}

PolicyWrite View::PolicyChange(PolicyFact wanted) const {
  const PolicyFact* known = policy(wanted.name);
  const Revision read = known != nullptr ? known->revision : Revision{};
  return {.policy = std::move(wanted), .read = read, .changed = policies_changed()};
}

bool View::InForce(const RecordFact& record) const {
  return record.present && record.readability == Readability::kReadable && !record.leader.empty() &&
         SessionAlive({record.leader, record.session});
}

bool View::LiveMove(const MoveFact& move) const {
  if (!move.present || move.readability != Readability::kReadable) return false;
  if (move.phase == MovePhase::kVoid || move.to == move.from) return false;
  const RecordFact& record = records_.at(move.shard.value);
  if (record.term() != move.ends || record.leader != move.from || !InForce(record)) return false;
  const MemberFact* target = member(move.to);
  if (target == nullptr || !target->Live() || !rules_.Allow(move.shard, *target)) return false;
  return move.phase != MovePhase::kPrepared || target->HoldsSession(move.prepared_session);
}

bool View::Draining(const MemberFact& member) const {
  return member.state == MemberState::kDraining ||
         policy({PolicyKind::kDrain, member.node}) != nullptr;
}

}  // namespace baton::core
