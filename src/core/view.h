// View: what this node knows of its group, and from which revision.
//
// Facts come from snapshots, watch events, write replies and confirmations. They may arrive late,
// repeated and out of order. One rule makes this harmless: for each key, the View keeps the fact
// with the greatest revision. A key's absence is a fact with a revision, too. So a snapshot read at
// R never replaces a fact from a later revision, and a lost leadership never comes back.
//
// The View merges facts and answers questions; it decides nothing. Until complete(), an unknown key
// looks like an absent key. Points in time say when this node learnt of something, by its own
// clock.
//
// Pure and single-threaded: owned by a core, or by a relay. Each Merge invalidates pointers and
// references into the View.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"
#include "core/absences.h"
#include "core/damaged_records.h"
#include "core/death_backoff.h"
#include "core/departures.h"
#include "core/known_sessions.h"
#include "core/leader_index.h"
#include "core/shard_rules.h"
#include "core/standbys.h"
#include "core/steadiness.h"

namespace baton::core {

/// ViewChanges: what changed in the View since the last TakeChanges.
struct ViewChanges {
  /// The shards in these cases, sorted and distinct:
  ///  - The record or the move changed.
  ///  - The session of the leader that the record names began, ended or was proven dead.
  ///  - UnledSince became known. Or, in a group with a lock delay, a newer read again found no
  ///    record of a shard that was led once (LastTerm).
  ///  - The record is unreadable, and any session began, ended or was proven dead.
  ///
  /// The first snapshot puts all shards here, sets all flags below, and empties `standbys`.
  std::vector<ShardId> shards;
  /// A member's key was written or vanished, a death was proven, or sessions were forgotten. A
  /// change of a member's list of ready standbys alone does not count.
  bool members = false;
  bool policy = false;  ///< a policy or a RipeFact changed
  /// The balancer's record, or the session of its leader, changed; or a read found no record.
  bool balancer = false;
  bool config = false;  ///< the config changed, or a read found no config
  /// The shards in these cases, sorted and distinct. A new leader, too, may change a shard's
  /// standbys: then the shard may be in `shards` alone.
  ///  - Standbys::Update or Continue returned the shard.
  ///  - The leader that the record names has other labels or another zone.
  ///  - A node became a ready standby for the shard, or ceased to be one.
  std::vector<ShardId> standbys;
  std::vector<NodeId> changed_members;  ///< nodes whose keys set `members`; may have duplicates
  /// Members whose Steadiness::DelayOf grew, because a short session ended.
  std::vector<NodeId> flapping;
  bool any() const {
    return !shards.empty() || !standbys.empty() || members || policy || balancer || config;
  }
  /// Sorts `shards` and `standbys`, and drops duplicates.
  void Sort() {
    for (std::vector<ShardId>* list : {&shards, &standbys}) {
      if (!std::ranges::is_sorted(*list)) std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  }
  /// Adds a later ViewChanges. Then `shards` and `standbys` may be unsorted and have duplicates.
  void Add(ViewChanges later) {
    if (shards.empty()) {
      shards = std::move(later.shards);
    } else {
      shards.insert(shards.end(), later.shards.begin(), later.shards.end());
    }
    members |= later.members;
    policy |= later.policy;
    balancer |= later.balancer;
    config |= later.config;
    standbys.insert(standbys.end(), later.standbys.begin(), later.standbys.end());
    changed_members.insert(changed_members.end(), later.changed_members.begin(),
                           later.changed_members.end());
    flapping.insert(flapping.end(), later.flapping.begin(), later.flapping.end());
  }
};

/// ChangedShards: the shards that its owner has to look at again. At first, it has all shards;
/// Clear empties it. If it would collect more than 4,096 shards, it has all shards again. A shard
/// that comes twice may count twice.
class ChangedShards {
 public:
  /// Adds `changes.shards`, but not `changes.standbys`. If a member, a policy or the config
  /// changed, adds all shards. REQUIRES: `changes.shards` is sorted, as TakeChanges returns it.
  void Note(const ViewChanges& changes) {
    const std::size_t gathered = shards_.size() + changes.shards.size();
    const bool any = changes.members || changes.policy || changes.config;
    if (any || gathered > kMaxGathered) SetAll();
    if (all_ || changes.shards.empty()) return;
    const auto middle = shards_.insert(shards_.end(), changes.shards.begin(), changes.shards.end());
    std::inplace_merge(shards_.begin(), middle, shards_.end());
    shards_.erase(std::unique(shards_.begin(), shards_.end()), shards_.end());
  }
  void SetAll() {
    all_ = true;
    shards_.clear();
  }
  bool all() const { return all_; }
  /// Sorted and distinct; empty if all().
  const std::vector<ShardId>& shards() const { return shards_; }
  void Clear() {
    all_ = false;
    shards_.clear();
  }

 private:
  // With more shards than this, it is as cheap to look at all shards.
  static constexpr std::size_t kMaxGathered = 4096;
  bool all_ = true;
  std::vector<ShardId> shards_;
};

class View {
 public:
  /// `shards`: how many shards the group has. `self`: the node that owns this view; empty for a
  /// relay.
  View(std::uint32_t shards, NodeId self);

  // Each function merges facts that arrived at `now`. Changes come from the watch. A Snapshot is a
  // read of everything: a key without a fact in the snapshot is absent at the snapshot's revision.
  // A list of facts is what a write or a confirmation read back.
  //
  // Merge ignores facts of shards not below shard_count(). It ignores a fact that is not newer than
  // the known fact of its key, with these exceptions:
  //  - A shard's record that is not newer changes no leader. But if the view could not tell so far
  //    whether the leader's session has ended, it checks this again: UnledSince may become known,
  //    and a death that was uncertain may become certain (DeathBackoff::End::certain).
  //  - If the view knows a record without its version and create revision, a record with the same
  //    revision adds them.
  //  - A DeathFact that is not newer counts, because a proof stays true. But every DeathFact needs
  //    Changes which show that the member key was deleted at the same revision (ProvenDeaths).
  //  - A late RipeFact may bring back a key `ripe/<node>` that a snapshot showed as absent. This is
  //    harmless, because the key's content stays true.
  void Merge(const Snapshot& snapshot, TimePoint now);
  void Merge(const Changes& changes, TimePoint now);
  void Merge(const std::vector<Fact>& facts, TimePoint now);
  /// Goes on choosing standbys if a Merge could not finish (standbys.h), one portion a call
  /// (Standbys::kScoresAtOnce). If a Merge has done a portion since the last call, this call does
  /// nothing, so that no step does two portions. Returns whether work is left. If so, call this
  /// again soon.
  bool ContinueStandbys() {
    if (!std::exchange(standbys_updated_, false))
      NoteStandbys(standbys_.Continue(Standbys::kScoresAtOnce));
    return !standbys_.settled();
  }
  /// Returns what changed since the last call or, in the first call, since the start. `shards` and
  /// `standbys` are sorted and distinct; `changed_members` and `flapping` are not.
  ViewChanges TakeChanges();
  /// The view knows everything that had happened by `at`. So if it hears of a new session later,
  /// that session began after `at` (Absences::NoteBegan). Ignored if an earlier call had a later
  /// `at`.
  void NoteCurrent(TimePoint at) { current_at_ = std::max(current_at_, at); }
  /// `session` is an earlier session of self(). The session's process is dead, and no other process
  /// acts on the shards that the session led. Remembers the last 8. REQUIRES (not checked): called
  /// before the first Merge.
  void NoteStopped(SessionId session) { sessions_.NoteStopped({self_, session}); }
  /// Whether NoteStopped was called for the session, and the view has not forgotten it.
  bool StoppedHere(const SessionRef& session) const { return sessions_.Stopped(session); }

  /// A key whose mod revision went down. The view knew the key, or its absence, with revision
  /// `known`. Then a snapshot with a revision not below `known` showed the key with the lower
  /// revision `found`. In one history of etcd this can't happen: somebody restored a backup, and
  /// then raised etcd's revision.
  ///
  /// The view compares shard records, members and the config. It forgets an absent member, except
  /// self(), once a snapshot shows the absence; after that it has nothing to compare.
  struct WentBack {
    Revision known;
    Revision found;
  };
  /// The first such key; nullopt: the view has seen no such key.
  const std::optional<WentBack>& went_back() const { return went_back_; }

  /// Whether a snapshot was merged. From then on every key is known.
  bool complete() const { return complete_; }
  /// When the last snapshot was merged; TimePoint{}: no snapshot was merged.
  TimePoint read_at() const { return read_at_; }
  /// When the snapshot before the last one was merged; TimePoint{}: there was none. Reads don't
  /// overlap, so the read of the last snapshot began after this time. read_at() can't show this:
  /// the process may pause between etcd's answer and the merge.
  TimePoint read_began_after() const { return read_before_; }
  /// The greatest revision of a merged snapshot or watch message; 0: neither was merged. Once
  /// complete(), the view has every key as it was at this revision or later.
  Revision revision() const { return revision_; }

  std::uint32_t shard_count() const { return static_cast<std::uint32_t>(records_.size()); }
  const NodeId& self() const { return self_; }
  /// The config as it is now, even if it does not fit; `present` is false if there is no config.
  const ConfigFact& config() const { return config_; }
  /// The last config that fitted; `present` is false if no config has fitted yet. A config fits if
  /// it can be read and has this view's shard count. Its hash and cluster id must be those of the
  /// fitting configs before it. If the present config does not fit or is absent, this one stays.
  const ConfigFact& fitting_config() const { return fitting_config_; }
  /// The failover settings of the fitting config; the defaults if no config has fitted yet. A write
  /// that depends on these settings must compare the fitting config's revision. So etcd refuses the
  /// write if another config, good or bad, has been written since.
  const FailoverSettings& failover() const { return fitting_config_.failover; }
  /// The placement rules of the fitting config. A write that depends on these rules must compare
  /// the same revision.
  const ShardRules& rules() const { return rules_; }
  // All questions about a shard REQUIRE shard < shard_count(). Otherwise most of them throw
  // std::out_of_range.

  /// The shard's record; `present` is false if the record is absent or not known yet.
  const RecordFact& record(ShardId shard) const { return records_.at(shard.value); }
  const RecordFact& balancer() const { return balancer_; }
  /// The shard's move, even if it is not live (LiveMove); null if no move is known.
  const MoveFact* move(ShardId shard) const {
    const auto found = moves_.find(shard);
    return found != moves_.end() ? &found->second : nullptr;
  }
  /// The revision of the shard's move. If no move is known: the revision at which the move was
  /// absent; 0: nothing is known of it.
  Revision move_revision(ShardId shard) const {
    const MoveFact* known = move(shard);
    return known != nullptr ? known->revision : move_absent_at_.at(shard.value);
  }
  const std::map<ShardId, MoveFact>& moves() const { return moves_; }
  /// By node id. Includes members that are not live. An absent member has an entry (`present` is
  /// false) until the next snapshot confirms its absence; self() keeps its entry for ever.
  const std::map<NodeId, MemberFact>& members() const { return members_; }
  /// The node's entry in members(); null if there is no entry.
  const MemberFact* member(const NodeId& node) const {
    const auto found = members_.find(node);
    return found != members_.end() ? &found->second : nullptr;
  }
  /// The policy; null if it is not set.
  const PolicyFact* policy(const PolicyName& name) const {
    const auto found = policies_.find(name);
    return found != policies_.end() && found->second.present ? &found->second : nullptr;
  }
  /// The mod revision of the last change of any policy. 0: no policy was ever changed, or somebody
  /// deleted the key of PolicyKind::kChanged.
  Revision policies_changed() const {
    const PolicyFact* known = policy({PolicyKind::kChanged});
    return known != nullptr ? known->revision : Revision{};
  }
  /// Returns the write that sets `policy`, or deletes it if `policy.present` is false. The write's
  /// guards compare the revisions that this view knows.
  PolicyWrite PolicyChange(PolicyFact policy) const;

  /// The keys `ripe/<node>` as last seen, by node: see RipeFact. An absent key has an entry until
  /// the next snapshot.
  const std::map<NodeId, RipeFact>& ripe() const { return ripe_; }
  /// The node's entry in ripe(), which may be absent (`present` is false); null if there is no
  /// entry.
  const RipeFact* ripe(const NodeId& node) const {
    const auto found = ripe_.find(node);
    return found != ripe_.end() ? &found->second : nullptr;
  }

  /// Whether the node's member key has the lease of this session. A claim's guard checks the same.
  bool SessionAlive(const SessionRef& ref) const {
    const MemberFact* found = member(ref.node);
    return found != nullptr && found->HoldsSession(ref.session);
  }
  /// Whether the record is readable and names a leader whose session is alive.
  bool InForce(const RecordFact& record) const;
  bool InForce(ShardId shard) const { return led_by_.at(shard.value) != LeaderIndex::kNobody; }
  /// The nodes that stand by for the shard now, in the order in which they would take over. Some
  /// may not be ready (MemberFact::ReadyFor). May be empty.
  std::vector<NodeId> StandbysOf(ShardId shard) const {
    return standbys_.Of(shard, LeaderOf(shard));
  }
  /// Whether StandbysOf(shard) has the node.
  bool StandsBy(ShardId shard, const NodeId& node) const {
    return standbys_.StandsBy(shard, LeaderOf(shard), node);
  }
  const Standbys& standbys() const { return standbys_; }
  /// The shard's leader; null if the shard's record is not in force (InForce).
  const MemberFact* LeaderOf(ShardId shard) const {
    return InForce(shard) ? member(record(shard).leader) : nullptr;
  }
  /// How many shards the node leads by records in force; 0 for an unknown node.
  std::uint32_t LedBy(const NodeId& node) const;
  /// Whether the move can still be carried out. All of this must hold:
  ///  - The move is readable and not void.
  ///  - The leadership that the move ends is in force.
  ///  - The target is a live member, is not the leader, and fits the placement rules. It may drain.
  ///  - If the move is prepared, the target still has the session that prepared it.
  bool LiveMove(const MoveFact& move) const;
  /// How many members are live (MemberFact::Live). Each of them watches the group.
  std::size_t LiveMembers() const { return live_members_; }
  /// Whether the member drains: its state is kDraining (this includes unhealthy members), or an
  /// operator's policy drains it.
  bool Draining(const MemberFact& member) const;

  /// When this node learnt that no leadership of the shard is in force (InForce). Nullopt while a
  /// leadership is in force, and before this node knows the shard's record or its absence. An
  /// unreadable record is not in force, although a node of a newer version may lead by this record.
  std::optional<TimePoint> VacantSince(ShardId shard) const {
    const TimePoint since = vacant_since_.at(shard.value);
    return since == TimePoint::max() ? std::nullopt : std::optional(since);
  }
  /// When this node learnt that the shard's present record is not in force. The time begins again
  /// with each newer record that is not in force, and with each newer read that finds no record.
  /// VacantSince keeps the first time. Nullopt in three cases:
  ///  - This node knows nothing of the record yet.
  ///  - The record is in force.
  ///  - A write's answer showed the record, and all that the view knows of the leader is older than
  ///    the record. So the leader's session may have begun and ended unseen.
  std::optional<TimePoint> UnledSince(ShardId shard) const {
    const TimePoint since = unled_since_.at(shard.value);
    return since == TimePoint::max() ? std::nullopt : std::optional(since);
  }
  /// The term of the last leadership of the shard that this view saw in force; 0: no such
  /// leadership.
  Term LastTerm(ShardId shard) const { return last_term_.at(shard.value); }
  /// The number of shards for which VacantSince returns a time.
  std::uint32_t vacancies() const { return vacancies_; }
  /// How long the shard had no leader before its present leadership, as this node saw it; 0: the
  /// node saw no gap. Valid only in the step in which the leadership began (core/detection.h):
  /// later facts may overwrite it.
  Duration LastGap(ShardId shard) const { return last_gap_.at(shard.value); }

  /// Which shards' readable records name which node as the leader, even if the node's session has
  /// ended.
  const LeaderIndex& leaders() const { return leaders_; }

  // SeenAlive, LastLeaseEnd, ProvenDead and StoppedHere remember sessions. After each snapshot, the
  // view forgets the sessions of absent nodes that no shard's record names. Here, an unreadable
  // record counts as naming its LastKnownLeader.

  /// Whether this view ever saw the session alive, even if it has ended since. Remembers the last 8
  /// sessions of a node.
  bool SeenAlive(const SessionRef& ref) const { return sessions_.SeenAlive(ref); }
  /// How the node's last session ended, as the watch showed it. Null if the view saw no end of a
  /// session of the node, or if a read showed the last end.
  const LeaseEnd* LastLeaseEnd(const NodeId& node) const { return sessions_.LastEnd(node); }
  /// Whether the session's process was proven dead. Remembers the last 8 such sessions of a node.
  /// Each of these is a proof:
  ///  - The node's next session took over its member key.
  ///  - A DeathFact of the session counted (see Merge).
  ///  - NoteStopped was called for the session.
  bool ProvenDead(const SessionRef& ref) const { return sessions_.ProvenDead(ref); }

  /// The session that the shard's record named just before the record became unreadable. The
  /// session may have ended before. Nullopt if the record named nobody, or is readable or absent
  /// now. Also nullopt if the view can't tell which session that was, in these cases:
  ///  - An unreadable record followed a record of a newer schema.
  ///  - A read showed an unreadable record, and the view can't tell whether the key was written
  ///    more than once since the known record.
  ///  - A read showed the first damage, and the session was not alive then.
  std::optional<SessionRef> LastKnownLeader(ShardId shard) const {
    const Damage* const damage = damage_.Of(shard);
    return damage != nullptr ? damage->last_leader : std::nullopt;
  }
  /// When this node first saw that the shard's record is unreadable (damaged or of a newer schema);
  /// nullopt if the record is readable or absent. When another unreadable record follows, this time
  /// stays, but it begins again in the cases that are listed at LastKnownLeader.
  std::optional<TimePoint> DamagedSince(ShardId shard) const {
    const Damage* const damage = damage_.Of(shard);
    return damage != nullptr ? std::optional(damage->since) : std::nullopt;
  }
  using Damage = DamagedRecords::Damage;
  /// The shards for which DamagedSince returns a time.
  const std::map<ShardId, Damage>& damage() const { return damage_.all(); }

  /// When this node last learnt that a member key appeared, vanished or moved to another lease;
  /// TimePoint{}: never. Keys of members that flap don't count (Steadiness::Flaps).
  TimePoint membership_changed_at() const { return membership_changed_at_; }
  /// Which members flap, and which are gone.
  const Steadiness& steadiness() const { return steadiness_; }
  /// Which members left lately, and why.
  const Departures& departures() const { return departures_; }
  /// For how long nodes have been away.
  const Absences& absences() const { return absences_; }
  /// Which shards wait because their last leaders died soon after they began to lead.
  const DeathBackoff& deaths() const { return deaths_; }
  /// The DeathTally (base/facts.h) for a record of the shard that is written now.
  DeathTally NextTally(ShardId shard, TimePoint now, WallTime wall) const {
    return deaths_.Next(shard, record(shard), now, wall);
  }
  /// This process has lost its session `session` and goes on, so the end of this session does not
  /// count as a death. Remembers the last 8 such sessions.
  void NoteOutlived(const SessionRef& session) { deaths_.NoteOutlived(session); }

 private:
  /// The source of a fact. The watch shows every change of a key, a read only the last one.
  enum class Source { kWatch, kRead };
  void MergeAll(const std::vector<Fact>& facts, Source source, TimePoint now);
  void MergeDeaths(const std::vector<Fact>& facts, TimePoint now);
  void MergeFact(const Fact& fact, Source source, TimePoint now);
  void MergeOne(const ShardRecordFact& fact, Source source, TimePoint now);
  void NoteDamage(const ShardRecordFact& found, Source source, TimePoint now);
  void MergeOne(const MemberFact& fact, Source source, TimePoint now);
  void MergeOne(const MoveFact& fact, Source source, TimePoint now);
  void MergeOne(const BalancerFact& fact, Source source, TimePoint now);
  void MergeOne(const PolicyFact& fact, Source source, TimePoint now);
  void MergeOne(const ConfigFact& fact, Source source, TimePoint now);
  void MergeOne(const DeathFact&, Source, TimePoint) {}  // see MergeDeaths
  void MergeOne(const RipeFact& fact, Source source, TimePoint now);
  void NoteMembership(const MemberFact& before, const MemberFact& after, TimePoint now);
  void NoteLeaseEnd(const MemberFact& before, const MemberFact& after, Source source,
                    TimePoint now);
  void NoteDeparture(const MemberFact& before, const MemberFact& after, Source source,
                     TimePoint now);
  std::uint32_t NamedBy(const SessionRef& ref) const;
  void MarkLeaderChanged(const NodeId& node, TimePoint now);
  void CountLed(ShardId shard);
  void UpdateVacancy(ShardId shard, TimePoint now);
  void UpdateUnled(ShardId shard, bool new_record, TimePoint now);
  bool MembersAsNewAs(const RecordFact& record) const;
  void UpdateDeaths(ShardId shard, TimePoint now);
  void Touch(ShardId shard);
  void NoteReady(const MemberFact& before, const MemberFact& after);
  void NoteStandbys(const std::vector<ShardId>& changed) {
    changes_.standbys.insert(changes_.standbys.end(), changed.begin(), changed.end());
  }
  void UpdateStandbys(std::size_t merged);
  WentBack KnownAndFound(const ShardRecordFact& fact) const;
  WentBack KnownAndFound(const MemberFact& fact) const;
  WentBack KnownAndFound(const ConfigFact& fact) const { return {config_.revision, fact.revision}; }
  WentBack KnownAndFound(const MoveFact&) const { return {}; }
  WentBack KnownAndFound(const BalancerFact&) const { return {}; }
  WentBack KnownAndFound(const PolicyFact&) const { return {}; }
  WentBack KnownAndFound(const DeathFact&) const { return {}; }
  WentBack KnownAndFound(const RipeFact&) const { return {}; }
  void CompareRevisions(const Snapshot& snapshot);
  void MakeAbsent(const Snapshot& snapshot, TimePoint now);
  void ForgetAbsent();

  NodeId self_;
  bool complete_ = false;
  std::optional<WentBack> went_back_;
  TimePoint read_at_{};
  TimePoint read_before_{};
  TimePoint current_at_ = TimePoint::min();
  Revision revision_;
  Revision snapshot_revision_;  ///< every key without an entry here was absent at this revision
  ConfigFact config_;
  ConfigFact fitting_config_;
  ShardRules rules_;
  Standbys standbys_;
  bool standbys_outdated_ = false;
  bool standbys_updated_ = false;  ///< true: the next ContinueStandbys does nothing
  RecordFact balancer_;
  std::vector<RecordFact> records_;
  std::map<ShardId, MoveFact> moves_;
  /// by shard: if there is no move, the revision at which the move was absent
  std::vector<Revision> move_absent_at_;
  std::map<NodeId, MemberFact> members_;
  std::size_t live_members_ = 0;
  std::map<PolicyName, PolicyFact> policies_;
  std::map<NodeId, RipeFact> ripe_;
  DamagedRecords damage_;

  LeaderIndex leaders_;
  std::vector<LeaderIndex::Number> led_by_;  ///< by shard: its leader, if its record is in force
  std::vector<std::uint32_t> led_;           ///< by the leaders' numbers: how many shards
  std::vector<TimePoint> vacant_since_;      ///< by shard; TimePoint::max(): led, or unknown
  std::uint32_t vacancies_ = 0;
  std::vector<TimePoint> unled_since_;  ///< by shard; TimePoint::max(): see UnledSince
  std::vector<Duration> last_gap_;
  std::vector<Term> last_term_;
  KnownSessions sessions_;
  Steadiness steadiness_;
  Departures departures_;
  Absences absences_;
  DeathBackoff deaths_;
  std::optional<WallTime> snapshot_wall_;  ///< set while a snapshot is merged
  TimePoint membership_changed_at_{};

  ViewChanges changes_;
  std::vector<bool> changed_flag_;
};

/// Whether some shard of `changes.shards` has no leadership in force.
inline bool Vacated(const View& view, const ViewChanges& changes) {
  return std::any_of(changes.shards.begin(), changes.shards.end(),
                     [&](ShardId shard) { return !view.InForce(shard); });
}

}  // namespace baton::core
