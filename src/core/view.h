// View: what this node knows of its group, and from which revision.
//
// Facts arrive from snapshots, watch events, write replies and confirmations, late, repeated and
// out of order between these sources. One rule makes that harmless: per key, the fact with the
// greatest revision stays, and an absence has a revision like anything else. So a snapshot read at
// R never replaces what is known from a later revision, and a lost leadership never revives.
//
// Pure and single-threaded: owned by the core.
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

namespace baton::core {

/// What a merge changed, since it was last taken.
struct Touched {
  std::vector<ShardId>
      shards;            ///< whose record, move or leader's liveness changed; sorted, distinct
  bool members = false;  ///< any member fact (also its state or weight)
  bool policy = false;
  bool balancer = false;
  bool config = false;
  bool any() const { return !shards.empty() || members || policy || balancer || config; }
  /// The shards stay distinct only within what was taken at once.
  void Add(Touched later) {
    if (shards.empty()) {
      shards = std::move(later.shards);
    } else {
      shards.insert(shards.end(), later.shards.begin(), later.shards.end());
    }
    members |= later.members;
    policy |= later.policy;
    balancer |= later.balancer;
    config |= later.config;
  }
};

/// Shards whose moves are to be thought over again, gathered until they are.
class ChangedShards {
 public:
  /// A member's change may concern any move.
  void Note(const Touched& touched) {
    const std::size_t gathered = shards_.size() + touched.shards.size();
    if (touched.members || touched.policy || gathered > kMostGathered) SetAll();
    if (all_ || touched.shards.empty()) return;
    const auto middle = shards_.insert(shards_.end(), touched.shards.begin(), touched.shards.end());
    std::inplace_merge(shards_.begin(), middle, shards_.end());
    shards_.erase(std::unique(shards_.begin(), shards_.end()), shards_.end());
  }
  void SetAll() {
    all_ = true;
    shards_.clear();
  }
  bool all() const { return all_; }
  /// Sorted, distinct; empty where all().
  const std::vector<ShardId>& shards() const { return shards_; }
  void Clear() {
    all_ = false;
    shards_.clear();
  }

 private:
  static constexpr std::size_t kMostGathered = 4096;  // all are as cheap then
  bool all_ = true;
  std::vector<ShardId> shards_;
};

class View {
 public:
  /// `self` names the node whose view it is (only for marking its own records).
  View(std::uint32_t shards, NodeId self);

  // Merging: `now` stamps when a vacancy was first known.
  void Merge(const Snapshot& snapshot, TimePoint now);
  void Merge(const Changes& changes, TimePoint now);
  void Merge(const std::vector<Fact>& facts, TimePoint now);
  Touched TakeTouched();

  /// A snapshot has been merged: every key is known.
  bool complete() const { return complete_; }
  /// When the last snapshot was merged.
  TimePoint read_at() const { return read_at_; }
  /// Complete up to here: the last snapshot's or change's revision.
  Revision revision() const { return revision_; }

  std::uint32_t shard_count() const { return static_cast<std::uint32_t>(records_.size()); }
  const ConfigFact& config() const { return config_; }
  const RecordFact& record(ShardId shard) const { return records_.at(shard.value); }
  const RecordFact& balancer() const { return balancer_; }
  /// The shard's move, live or not; null where there is none.
  const MoveFact* move(ShardId shard) const;
  /// The revision from which the move, or that there is none, is known.
  Revision move_revision(ShardId shard) const;
  const std::map<ShardId, MoveFact>& moves() const { return moves_; }
  /// By node id; also members that are not live, and absences since the last snapshot.
  const std::map<NodeId, MemberFact>& members() const { return members_; }
  const MemberFact* member(const NodeId& node) const;
  const PolicyFact* policy(const std::string& name) const;
  /// The write that sets `policy`, or takes it back, guarded by what is known here.
  PolicyWrite PolicyChange(PolicyFact policy) const;

  /// The session's member key lives: exactly what a claim's guard would find.
  bool SessionAlive(const SessionRef& ref) const;
  /// The record names a leader whose session is alive.
  bool InForce(const RecordFact& record) const;
  bool InForce(ShardId shard) const { return InForce(record(shard)); }
  /// Present, not void, its term in force and its target able to take part.
  bool LiveMove(const MoveFact& move) const;
  /// Members that take part; each of them watches the group.
  std::size_t LiveMembers() const;
  /// A member takes part and has a weight: shards without a leader can find one.
  bool SomebodyMayLead() const;
  /// Draining by its own word or by an operator's policy.
  bool Draining(const MemberFact& member) const;

  /// When this node first knew that nobody leads the shard; nullopt while somebody does.
  std::optional<TimePoint> VacantSince(ShardId shard) const;
  /// The last leadership that this view saw in force; 0: none.
  Term LastTerm(ShardId shard) const { return last_term_.at(shard.value); }
  /// Shards that nobody leads.
  std::uint32_t vacancies() const { return vacancies_; }
  /// How long nobody led before the shard's present leader did, as this node saw it.
  Duration LastGap(ShardId shard) const { return last_gap_.at(shard.value); }
  /// The session was alive in this view at some time: its end was seen, not merely found.
  bool SeenAlive(const SessionRef& ref) const;
  /// How the node's last session was seen to end; null where it was not seen, but read.
  struct LeaseEnd {
    Revision revision;
    TimePoint seen_at;
    Duration ttl;
  };
  const LeaseEnd* LastLeaseEnd(const NodeId& node) const;
  /// That session's member key was taken over by its successor, on proof of death.
  bool ProvenDead(const SessionRef& ref) const;
  /// The last readable leadership of a shard whose record is damaged now; none where it is not
  /// known for sure.
  std::optional<SessionRef> LastKnownLeader(ShardId shard) const;
  /// When the shard's record was first seen unreadable.
  std::optional<TimePoint> DamagedSince(ShardId shard) const;

  /// When a member key last appeared, vanished or changed hands.
  TimePoint membership_changed_at() const { return membership_changed_at_; }
  /// How many members vanished in (since, now].
  std::size_t VanishedSince(TimePoint since) const;

 private:
  /// Where a fact is from: the watch shows every change of a key, a read only the last.
  enum class Source { kWatch, kRead };
  void MergeFact(const Fact& fact, Source source, TimePoint now);
  void MergeRecord(const ShardRecordFact& fact, Source source, TimePoint now);
  void NoteDamage(ShardId shard, Source source, TimePoint now);
  void MergeMember(const MemberFact& fact, Source source, TimePoint now);
  void MergeMove(const MoveFact& fact);
  void NoteMembership(const MemberFact& before, const MemberFact& after, TimePoint now);
  void NoteLeaseEnd(const MemberFact& before, const MemberFact& after, Source source,
                    TimePoint now);
  void MarkLeaderChanged(const NodeId& node, TimePoint now);
  void UpdateVacancy(ShardId shard, TimePoint now);
  void Touch(ShardId shard);
  void MakeAbsent(const Snapshot& snapshot, TimePoint now);
  void ForgetAbsent();

  struct Damage {
    std::optional<SessionRef> last_leader;
    TimePoint since;
  };

  NodeId self_;
  bool complete_ = false;
  TimePoint read_at_{};
  Revision revision_;
  Revision snapshot_revision_;  ///< keys never heard of are known to be absent from here
  ConfigFact config_;
  RecordFact balancer_;
  std::vector<RecordFact> records_;
  std::map<ShardId, MoveFact> moves_;
  std::vector<Revision> move_absent_at_;  ///< by shard: where there is no move, known from here
  std::map<NodeId, MemberFact> members_;
  std::map<std::string, PolicyFact> policies_;
  std::map<ShardId, Damage> damage_;

  std::vector<TimePoint> vacant_since_;  ///< TimePoint::max(): led
  std::uint32_t vacancies_ = 0;
  std::vector<Duration> last_gap_;
  std::vector<Term> last_term_;
  std::map<NodeId, std::vector<SessionId>> seen_alive_;  ///< the last few sessions of each node
  std::map<NodeId, std::vector<SessionId>> proven_dead_;
  std::map<NodeId, LeaseEnd> lease_ends_;
  std::vector<TimePoint> vanished_;  ///< the last times a member vanished, oldest first
  TimePoint membership_changed_at_{};

  Touched touched_;
  std::vector<bool> touched_flag_;
};

}  // namespace baton::core
