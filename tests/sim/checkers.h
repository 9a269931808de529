// Checkers: what must hold of a whole group at every instant, judged by what
// can be seen from outside: the answers of Leads(), the store's history, the
// transitions reported, the callbacks made and the fenced resource. The
// invariants have the numbers of the project's plan:
//
//   I1  at most one node leads a shard at any instant; more sharply: whoever
//   leads is named by the
//       shard's record, and its session lives
//   I2  a fenced resource never accepts an older leadership after a newer one
//   I3  a shard's terms only grow, and none is held by two
//   I4  views equal the store at rest
//   I5  every shard is led within the failover bound while a node can serve
//   I6  a handoff has no revision without a leader's name, and goes to whom
//   prepared it I7  no write is applied twice, every transition is reported
//   once and with the right reason I8  no halt without cause, no loop without
//   end, no queue without bound I9  at rest all is led, balanced, without
//   moves, and nothing is written
//
// Where etcd or an operator ends a lease early, or an operator changes keys,
// two nodes may lead for a while: those overlaps are counted and measured, not
// violations.
//
// For one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/view.h"
#include "sim/process.h"

namespace baton::sim {

struct CheckerOptions {
  std::uint32_t shards = 0;
  Duration ttl{};
  Duration settle{};
  Duration prepare_timeout{};
  Duration release_timeout{};
  Duration callback_timeout{};
  std::size_t expect_nodes = 0;
  /// Within it every shard has a leader again once nothing is wrong any more.
  Duration failover_bound{};
  /// At rest: whoever has to take a move's next step does so within it.
  Duration step_bound{};
};

struct Observed {
  std::uint64_t leader_changes = 0;  ///< of shards, their first leader not counted
  std::uint64_t revisions = 0;
  std::uint64_t handoffs = 0;
  std::uint64_t writes_accepted = 0;
  std::uint64_t writes_fenced_off = 0;  ///< of a former leader, refused by the resource
  std::uint64_t overlaps = 0;           ///< after a lease or record was lost early
  Duration longest_overlap{};
  /// That somebody led after an operator's change of the record, since a confirmation told of it.
  Duration longest_unaware{};
  Duration longest_vacancy{};  ///< while nothing was wrong
  Duration longest_step{};     ///< of a move, at rest, while who has to take it is well
};

class Checkers final : public HistoryObserver, public ProcessObserver {
 public:
  using Processes = std::vector<std::unique_ptr<Process>>;
  Checkers(World& world, EtcdModel& etcd, const Processes& processes, CheckerOptions options);

  // What happens.
  void Committed(std::int64_t revision, int origin) override;
  void LeaseEnded(std::int64_t lease, LeaseEnd how, int origin) override;
  void Ran(Process& process) override;
  void Reported(Process& process, const Transition& transition) override;
  void Called(Process& process, ShardId shard, core::CallbackKind kind, Term term) override;
  void Halted(Process& process, const Error& why) override;
  void Finished(Process& process, const core::Finished& finished) override;
  void Wrote(Process& process, ShardId shard, Term term) override;
  void Sent(Process& process, const pb::TxnRequest& request) override;
  /// Who else looks at each process when something ran there.
  void WhenRan(std::function<void(Process&)> ran) { ran_ = std::move(ran); }
  /// Something is wrong now, or was until now: I5's clock starts anew.
  void Disturbed() { disturbed_at_ = world_.now(); }
  /// Something strikes many now, or did until now: nobody has to act in time.
  void Troubled() { troubled_at_ = world_.now(); }
  /// The shard's application hangs somewhere: I5 does not count it.
  void Tick();

  // At rest.
  /// What is missing until the group is at rest; empty: it is.
  std::string Unrest() const;
  void CheckRest();
  /// Moves that balance the group as the store has it now, were `leaving` draining.
  std::size_t MovesNeeded(const NodeId& leaving = {}) const;
  /// The fewest moves after which the members but `without` have their shares, as the project's
  /// plan defines them; computed here, so that a fault of the product's division shows.
  std::size_t FewestMoves(const NodeId& without = {}) const;
  /// Every shard has a leader that leads it.
  bool AllLed() const;
  /// The node has a member key that lives.
  bool IsMember(const NodeId& node) const;
  /// Everything as the store has it now.
  core::View Truth() const;

  const std::vector<std::string>& violations() const { return violations_; }
  /// One of I1 to I9 is violated: the run need not go on.
  bool decided() const { return violations_.size() > (core_wrong_ ? 1 : 0); }
  const Observed& observed() const { return observed_; }
  /// As the store has them now.
  const MoveFact* MoveOf(ShardId shard) const;
  const RecordFact& RecordOf(ShardId shard) const { return shards_.at(shard.value).record; }
  /// Who plans; null where nobody does.
  Process* Planner() const;
  void Violation(const char* invariant, const std::string& what);

 private:
  struct ShardHistory {
    RecordFact record;  ///< now
    std::map<std::int64_t, RecordFact> by_term;
    std::map<std::int64_t, TimePoint> tampers;  ///< revisions that an operator wrote
    std::optional<SessionRef> last_readable;    ///< whom the record named before it was damaged
    TimePoint damaged_at{};
    std::map<std::int64_t, int> led_by;  ///< by term: the process
    std::int64_t newest_led = 0;         ///< the greatest term anybody led with
    NodeId last_leader;
    std::optional<TimePoint> vacant_since;
    std::int64_t fence = 0;           ///< the newest term the resource has seen
    std::set<std::int64_t> reported;  ///< terms
    std::optional<TimePoint> overlap_since;
  };
  struct Led {
    Term term;
    bool leads = false;
    Term acquired;   ///< the last term for which the application was asked to take the shard up
    Term releasing;  ///< and to release it
    Revision known;  ///< of the record, in the process's view
    /// A change of its record by an operator, and since when a confirmation tells of later ones.
    std::int64_t change = 0;
    std::optional<TimePoint> told_at;
  };
  struct Known {
    SessionId session;
    TimePoint since{};
  };
  struct Seen {
    std::vector<Led> shards;
    TimePoint deadline = TimePoint::min();
    Revision complete;              ///< its view's
    std::map<NodeId, Known> alive;  ///< the last session of each node that it knew to live
    std::map<std::string, TimePoint> records;   ///< that it sent, key and value, and when first
    TimePoint nothing_open = TimePoint::min();  ///< no write of its was under way, last
  };
  struct Move {
    MoveFact fact;
    Revision changed;  ///< also where it is gone
    Term prepared;     ///< the last leadership for whose end it was prepared, and when first
    TimePoint prepared_at{};
    TimePoint since{};  ///< that it is planned, or prepared
    std::optional<TimePoint> void_since;
  };
  /// Who has to act for a move, since when, and within which time.
  struct Step {
    ShardId shard;
    SessionId by;
    TimePoint since{};
    Duration bound{};
  };
  struct SentNow {
    Duration::rep second = 0;
    std::map<std::string, int> times;  ///< by request
  };

  ShardHistory& history(ShardId shard) { return shards_[shard.value]; }
  void CheckRecord(ShardId shard, const RecordFact& after, int origin);
  void CheckOwnChange(ShardId shard, const RecordFact& before, const RecordFact& after, int origin);
  void CheckTransfer(ShardId shard, const RecordFact& before, const RecordFact& after, int origin);
  void CheckTaken(ShardId shard, const RecordFact& before, const RecordFact& after, int origin);
  void CheckFirstClaim(const RecordFact& after, int origin);
  void CheckDamageReplaced(ShardId shard, int origin);
  void NoteDamage(ShardId shard, const RecordFact& before, const RecordFact& after);
  void CheckMove(const MoveFact& after, int origin);
  void CheckPolicy(const PolicyFact& after, int origin);
  void CheckReleased(ShardId shard, const RecordFact& before, int origin);
  void CheckMember(const MemberFact& after, int origin);
  // Moves that stand still (checkers_standstill.cc).
  void CheckMovesGoOn();
  void CheckGoesOn(ShardId shard, Move& kept);
  void CheckStep(const Step& step, const char* what);
  void NoteUnwell();
  TimePoint WellSince(SessionId session) const;
  bool LiveMove(const MoveFact& move) const;
  bool BalancerInForce() const;
  void CheckMemberPut(const MemberFact& before, const MemberFact& after, int origin);
  /// Nobody leads the shard by another term than its record's.
  void CheckGround(ShardId shard);
  void CheckNobodyLeads(SessionId session);
  void CheckCore(const Process& process);
  // What a process knows, and what it makes of it (checkers_knowledge.cc).
  void CheckShard(Process& process, ShardId shard, Led& seen, bool knows_its_end);
  void CheckKnown(const Process& process, ShardId shard, Led& seen, bool knows_its_end);
  bool KnowsItsEnd(const Process& process) const;
  void CheckDeadline(const Process& process, Seen& seen);
  void CheckComplete(const Process& process, Seen& seen);
  void CheckVoidMoves(const Process& process);
  void CheckOverlaps();
  void CheckEndsEarly(const Process& process);
  void CheckUnaware(const Process& process, ShardId shard);
  std::string UnawareTooLong(const Process& process, Led& seen, std::int64_t change, TimePoint at);
  /// How long a session can lead on that is renewed no more.
  Duration LeadsOnAtMost(const Process& process) const;
  void CheckBegins(Process& process, ShardId shard, Term term);
  void CheckAlone(Process& process, ShardId shard);
  void EndOverlap(ShardId shard);

  bool Alive(const NodeId& node, SessionId session) const;
  bool Excused(const Process& process, ShardId shard, Term term) const;
  Process* Of(int origin) const;
  /// The process knew the record's session while that lived, before it first sent what replaces it.
  bool SawAlive(int origin, ShardId shard, const RecordFact& record) const;
  void NoteRecords(const pb::TxnRequest& request, Seen& seen) const;
  bool DeadProcessOf(SessionId session) const;
  void CheckViews();
  void CheckReports();
  std::vector<std::size_t> LedBy(const std::vector<NodeId>& nodes) const;

  World& world_;
  EtcdModel& etcd_;
  const Processes& processes_;
  const CheckerOptions options_;
  const etcd::Keyspace keyspace_;
  std::vector<ShardHistory> shards_;
  std::map<ShardId, Move> moves_;
  RecordFact balancer_;
  TimePoint balancer_since_{};
  std::map<NodeId, MemberFact> members_;
  std::map<SessionId, int> session_process_;
  std::set<std::string> policies_put_;
  std::set<SessionId> established_;  ///< that their processes knew to be theirs
  std::set<SessionId> lost_;         ///< of those: whose member key was deleted or changed hands
  std::set<SessionId> excused_;      ///< that etcd or an operator ended early
  std::map<SessionId, TimePoint> ended_at_;  ///< whose member key went
  std::map<int, TimePoint> joined_at_;       ///< processes: when their first member key was put
  std::set<NodeId> joined_;                  ///< nodes of which a member key was ever put
  bool claimed_ = false;                     ///< somebody has led a shard
  std::map<int, Seen> seen_;
  std::function<void(Process&)> ran_;
  TimePoint disturbed_at_{};
  TimePoint troubled_at_{};
  std::map<int, TimePoint> unwell_at_;  ///< processes: when one was last held up
  Revision stored_before_;              ///< the store's, a tick ago
  std::map<int, SentNow> sent_;
  std::vector<std::string> violations_;
  bool core_wrong_ = false;
  Observed observed_;
};

}  // namespace baton::sim
