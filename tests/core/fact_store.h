// FactStore: etcd as the core sees it, in memory and in terms of facts.
//
// It executes base/writes.h with exactly the guards of src/etcd/guarded_write: one revision for
// each commit that changes something, per-item results, and read-backs as src/etcd gives them.
// Leases hang on keys; the caller says when they end. It keeps every change for watchers until
// compaction.
//
// Only for tests: one thread; it makes no faults (the cluster around it does).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"

namespace baton::test {

/// The key a fact is about, below the group's prefix: `shards/000003`.
std::string KeyOf(const Fact& fact);
std::string ShardKey(std::optional<ShardId> shard);
/// The policy that `text` names as in its key: "drain/n1", "pause".
PolicyName PolicyNamed(const std::string& text);

class FactStore {
 public:
  Revision revision() const { return revision_; }
  /// How many keys were put or deleted so far.
  std::int64_t changes() const { return static_cast<std::int64_t>(log_.size()); }
  std::uint64_t raft_term = 7;

  // Writes, as transactions that reach etcd now.
  WriteResult Execute(const Write& write);
  /// Whether the write puts any key, so that it needs space.
  bool Puts(const Write& write) const;
  bool SessionHolds(const SessionGuard& guard) const;

  // Leases.
  /// Returns false if the lease exists already.
  bool Grant(SessionId lease, std::chrono::seconds ttl, TimePoint now);
  /// Returns the granted TTL and renews the lease, or returns 0 if there is no such lease.
  std::chrono::seconds KeepAlive(SessionId lease, TimePoint now);
  /// Deletes the lease and its key. Returns false if there is no such lease.
  bool Revoke(SessionId lease);
  bool LeaseLives(SessionId lease) const { return leases_.contains(lease); }
  /// Ends leases that expired at least `late` ago.
  void Expire(TimePoint now, Duration late);
  /// The next time at which a lease may expire.
  TimePoint NextExpiry() const;
  /// A new etcd leader restarts every lease at its full TTL.
  void ElectLeader(TimePoint now);

  // An operator can do these with etcdctl.
  void Put(Fact fact, SessionId lease = {});
  void Delete(const std::string& key);

  // Reading.
  Snapshot Read() const;
  /// The key's fact, or its absence now; nullopt only if nothing ever was under the key.
  Fact Get(const std::string& key) const;
  RecordFact Record(ShardId shard) const;
  RecordFact Balancer() const;
  MemberFact Member(const NodeId& node) const;
  std::optional<MoveFact> Move(ShardId shard) const;
  bool Has(const std::string& key) const { return stored_.contains(key); }
  std::size_t MoveCount() const;
  const std::vector<std::string>& quarantined() const { return quarantined_; }
  bool Live(const SessionRef& session) const {
    return Member(session.node).HoldsSession(session.session);
  }
  bool InForce(ShardId shard) const;

  // Watching.
  Revision compacted() const { return compacted_; }
  void Compact() { compacted_ = revision_; }
  /// All changes in (after, revision()]. REQUIRES: after >= compacted().
  Changes ChangesAfter(Revision after) const;

  /// How many commits changed something: lets tests check that nothing is written.
  std::uint64_t commits() const { return commits_; }

 private:
  struct Stored {
    Fact fact;
    Revision mod;
    Revision create;
    std::uint32_t version = 0;  ///< how often it was written since then
    SessionId lease;
  };
  struct Lease {
    std::chrono::seconds ttl{};
    TimePoint expires{};
  };
  struct Effect {
    std::string key;
    std::optional<Fact> put;  ///< unset: deleted
    SessionId lease{};
  };
  struct Item {
    bool holds = true;
    std::vector<Effect> effects;
    std::vector<std::string> read_back;
  };
  struct Plan {
    bool shared_holds = true;
    std::vector<std::string> shared_read_back;
    std::vector<Item> items;
  };

  Plan MakePlan(const Write& write) const;
  Item PlanClaim(const ClaimBatch& write, const Claim& claim) const;
  Item PlanTransfer(const NodeId& from, const Transfer& transfer) const;
  Item PlanOwn(const std::string& key, Term term, Fact fact) const;
  Item PlanForceRelease(const ForceRelease& write) const;
  Item PlanRipe(const RipeMark& write) const;
  Item PlanPolicy(const PolicyWrite& write) const;
  Item PlanMember(const MemberFact& member, bool holds) const;
  Revision ModOf(const std::string& key) const;
  bool WrittenAfter(const std::string& prefix, Revision revision) const;
  Fact AbsentFact(const std::string& key, Revision revision) const;
  Fact Apply(const Effect& effect, Revision at);

  Revision revision_{10};
  Revision compacted_{10};
  std::uint64_t commits_ = 0;
  std::map<std::string, Stored> stored_;
  std::map<SessionId, Lease> leases_;
  std::vector<std::pair<Revision, Fact>> log_;
  std::vector<std::string> quarantined_;
};

}  // namespace baton::test
