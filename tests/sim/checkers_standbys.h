// StandbyChecker: the part of the checkers for standbys, I14. It judges by the callbacks of
// applications and by the keys of etcd; who stands by for what it computes from these by an oracle
// of its own (replica_oracle.h).
//
//  - Order, at each application: `standby` comes only while it neither leads the shard (from
//    `acquired` to `lost`) nor stands by already, and `standby_ended` only while it stands by.
//    `acquired` ends a standby, and so does `lost`, of a leadership that was over before `acquired`
//    could come. Who has drained, stopped or halted, and whose callbacks have all returned, stands
//    by for nothing.
//  - A planned move to a node whose application had said that it is ready brings no `prepare`
//    there.
//  - A member says only of shards that it is ready for them if its application said so a moment
//    ago, about that very standby. What it says of a shard that it leads counts for nobody; at rest
//    it says nothing of it.
//  - If a leader dies, its shard goes to the first of its ready standbys, if there is one. (What is
//    left out: CheckClaim.) At rest each claim is judged: Checkers::ExpectHeirs.
//  - At rest, exactly the nodes that the oracle finds stand by, and each member says that it is
//    ready for exactly what its application said last.
//
// For one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/view.h"
#include "sim/process.h"
#include "sim/replica_oracle.h"

namespace baton::sim {

class StandbyChecker {
 public:
  using Processes = std::vector<std::unique_ptr<Process>>;
  using Report = std::function<void(const std::string&)>;
  explicit StandbyChecker(Report report) : report_(std::move(report)) {}

  // The callbacks of applications.
  void Called(const Process& process, ShardId shard, core::CallbackKind kind, TimePoint now);
  void Leaves(const Process& process);

  // These follow what etcd has. Nothing of this is needed before rules ask for standbys.
  /// The members, the rules or the policies changed. `truth`: the view that the store gives now.
  void NoteGroup(const core::View& truth, TimePoint now);
  /// Whether some shard has no leader in force.
  void NoteVacancies(bool some, TimePoint now);
  /// The process sends this as its member record, for the first time.
  void CheckSaid(const Process& process, const MemberFact& said);

  struct Claim {
    ShardId shard;
    NodeId by;
    TimePoint sent{};  ///< for the first time
    /// Whether the claimer surely knew at `at` what had been so since `since`.
    std::function<bool(TimePoint at, TimePoint since)> knew;
    /// Whether the node surely did not come and go too often, as the claimer saw it.
    std::function<bool(const NodeId& node)> steady;
  };
  /// A dead leader's shard is claimed. REQUIRES: the group fails over at once, without lock delay.
  ///
  /// The claimer assigned the shard after the group's present vacancies began. So it is judged by
  /// what it knew by then. Another node's claim is a violation if a replica of the shard, which may
  /// lead and neither drains nor fails, says that it is ready, since long before then and until
  /// now. So is the claim of a ready standby that comes after this one. Returns whether the claim
  /// was judged. These are not:
  ///  - Those sent so late that the claimer may have passed over the ready standby.
  ///  - Those made while an earlier wave of vacancies, or an earlier change of those who may stand
  ///    by, is so young that the claimer may not have known all of it.
  ///  - Those by a node that was a ready standby a moment ago.
  bool CheckClaim(const Claim& claim) const;
  /// Whether the node's record says that it is ready for the shard.
  bool SaysReady(ShardId shard, const NodeId& node) const { return says_.contains({shard, node}); }
  /// Whether some node began or ceased to say so of the shard after `since`.
  bool SaidSince(ShardId shard, TimePoint since) const {
    const auto found = said_at_.find(shard);
    return found != said_at_.end() && found->second > since;
  }

  /// Says what is not as it should be at rest; empty: nothing.
  std::string Unsettled(const core::View& truth, const Processes& processes) const;
  /// ReplicaOracle::Replicas.
  ReplicaOracle::ByShard Replicas(const core::View& truth, const NodeId& without) const {
    return oracle_.Replicas(truth, without);
  }

 private:
  enum class Role : std::uint8_t { kNone, kStandsBy, kLeads };
  using Place = std::pair<ShardId, NodeId>;
  struct Since {
    Role role = Role::kNone;
    TimePoint at{};
  };

  Role RoleOf(const Process& process, ShardId shard) const;
  std::string DiffersAt(const core::View& truth, const ReplicaOracle::ByShard& standbys,
                        const Process& process) const;

  const Report report_;
  ReplicaOracle oracle_;
  std::map<std::pair<int, ShardId>, Since> roles_;  ///< by process; absent: always kNone
  /// The sessions that may stand by, and by which rules; when that last changed, and before.
  std::vector<SessionRef> may_stand_by_;
  Placement rules_;
  TimePoint changed_at_{};
  TimePoint changed_before_{};
  ReplicaOracle::ByShard replicas_;         ///< by shard, in their order
  std::map<Place, TimePoint> ready_since_;  ///< of replicas that are ready
  std::set<Place> says_;                    ///< whose member record says so
  std::map<Place, TimePoint> said_until_;   ///< when it stopped saying so
  std::map<ShardId, TimePoint> said_at_;    ///< when the last node began or stopped
  bool vacancies_ = false;
  TimePoint vacancies_since_{};
  TimePoint no_vacancies_since_{};
};

}  // namespace baton::sim
