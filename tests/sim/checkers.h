// Checkers: what must hold of a whole group at every instant. They judge by what can be seen from
// outside: the answers of Leads(), the store's history, the transitions reported, the callbacks
// made and the fenced resource. The invariants have the numbers of the project's plan:
//
//   I1  At most one node leads a shard at any instant; more sharply: the shard's record names the
//       node that leads, and that node's session lives.
//
//   I2  A fenced resource never accepts an older leadership after a newer one.
//
//   I3  A shard's terms only grow, and no two nodes hold the same one. If a restored backup makes a
//       key's revision go down, each node that knew the later one halts.
//
//   I4  At rest, views equal the store. What a status shows of the assignment follows the view.
//
//   I5  Every shard is led within the failover bound while a node can serve.
//
//   I6  A handoff has no revision without a leader's name, and the shard goes to the node that
//       prepared for it.
//
//   I7  No write is applied twice; every transition is reported once, with its reason and cause.
//
//   I8  No node halts without cause, no loop goes on without end, and every queue has a bound. What
//       failed is not tried again without a pause: a write, or an activation.
//
//   I9  At rest every shard is led, the group is balanced, no move is left, and nothing is written.
//       A node that plans moves keeps to the limit of moves in flight that holds. (What exactly:
//       checkers_limits.cc.)
//
//   I10 If a shard's leaders died soon, several times in a row, its record counts them, and nobody
//       claims it before its wait is over.
//
//   I11 Nobody claims while more members are gone at once than the brake allows, a member that
//       comes and goes gets nothing for a while, and all claims together keep to their pace,
//       at once and within a second. They also use it up, however the vacancies are spread.
//       Nothing else holds claims up, and no key without a lease keeps a node out of the group. A
//       node says of itself only what it knows. It leads nothing while its application gives no
//       sign of life; an unhealthy one gives its shards away, and stays.
//
//   I12 The group's failover settings hold. Under `never` only the owner claims, with the state
//       directory with which it led; under `after` nobody else does before the owner was away for
//       the delay; under a lock delay nobody claims before it is over, unless the last leader is
//       proven to have stopped. (What exactly: checkers_failover.cc.)
//
//   I13 No leadership begins at a node that the placement rules forbid, by the config at the moment
//       of the commit. At rest, the leaders are those that the rules want. (What exactly:
//       checkers_placement.cc.)
//
//   I14 The nodes that the rules ask for stand by, and each application hears of it in order. A
//       dead leader's shard goes to a ready standby, if there is one. (What exactly:
//       checkers_standbys.h.)
//
// If etcd or an operator ends a lease early, or an operator changes keys, two nodes may lead for a
// while. Those overlaps are counted and measured; they are no violations.
//
// For one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/texts.h"
#include "core/view.h"
#include "sim/checkers_standbys.h"
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
  /// Each node's own limit of planned moves in flight.
  std::uint32_t max_moves = 0;
  /// Every shard has a leader again this long after the last disturbance, at most.
  Duration failover_bound{};
  /// At rest, the process that has to take a move's next step takes it within this time.
  Duration step_bound{};
};

/// The harm of one storm to a machine (storms.cc).
enum class Storm : std::uint8_t {
  kKill,
  kKnown,  ///< its death is known before it starts again
  kStopAndKill,
  kStop,  ///< stands still, and goes on
  kFork,  ///< a child of the killed process keeps its lock
  kGuardKilled,
  kGuardStopped,  ///< perhaps under its lock
  kTwice,         ///< the next process dies early, too
  kTogether,      ///< several machines at once
  kLeave,
  kDiskLost,
};
inline constexpr std::size_t kStorms = static_cast<std::size_t>(Storm::kDiskLost) + 1;
/// "kill", ...
const char* ToString(Storm storm);
using StormCounts = std::array<std::uint64_t, kStorms>;

/// The rule under which a leader dies among standbys (standbys.cc).
enum class HeirRule : std::uint8_t { kStandbys, kSpread, kPrefer, kRequire, kSpreadAndPrefer };
inline constexpr std::size_t kHeirRules = static_cast<std::size_t>(HeirRule::kSpreadAndPrefer) + 1;
/// "standbys", "spread", ...
const char* ToString(HeirRule rule);
using HeirCounts = std::array<std::uint64_t, kHeirRules>;

struct Observed {
  std::uint64_t leader_changes = 0;  ///< of shards, their first leader not counted
  std::uint64_t revisions = 0;
  std::uint64_t handoffs = 0;
  std::uint64_t writes_accepted = 0;
  std::uint64_t writes_fenced_off = 0;  ///< of a former leader; the resource refused them
  std::uint64_t overlaps = 0;           ///< after a lease or record was lost early
  Duration longest_overlap{};
  /// The longest time that a node led after an operator changed the record, counted from the first
  /// confirmation that told the node of a later revision.
  Duration longest_unaware{};
  Duration longest_vacancy{};  ///< while nothing was wrong
  std::uint64_t crashes = 0;   ///< of processes that led a shard, under FailoverPolicy::kNever
  std::uint64_t crashed_leaderships = 0;  ///< that these processes had
  std::uint64_t placed = 0;               ///< leaderships that began by a placement rule
  std::uint64_t outran_a_label = 0;       ///< of these, with a label that the node had before
  std::uint64_t placed_at_rest = 0;       ///< shards under a rule, judged where it wants them
  std::uint64_t claims_by_standbys = 0;   ///< of dead leaders' shards, by ready standbys
  std::uint64_t claims_judged = 0;  ///< of these shards, while one was surely known to be ready
  std::uint64_t groups_with_standbys = 0;  ///< 1: the rules asked for standbys at some time
  HeirCounts heir_deaths{};                ///< at rest, under rules of each kind: leaders that died
  HeirCounts heirs_judged{};               ///< their shards that had a ready standby
  std::uint64_t held_judged =
      0;  ///< nodes that could have held more after such a death than they may
  std::uint64_t plans_at_limit = 0;  ///< moves that were planned up to the limit, as surely known
  std::uint64_t plans_at_ordered_limit = 0;  ///< of these, up to one that an operator had ordered
  std::uint64_t takeovers = 0;               ///< of kept shards, by another node or state directory
  StormCounts storms{};
  std::uint64_t leaderships = 0;              ///< that began
  std::uint64_t leaderships_under_never = 0;  ///< whose claim was committed under kNever
  /// Of these: another node led, or another state directory, and nobody had released the shard.
  std::uint64_t foreign_leaderships = 0;
  /// Sessions that were ended because their process was proven dead.
  std::uint64_t proven_deaths = 0;
  /// A session was ended, or a death claimed as proven, and the process or a child of it lived.
  std::uint64_t false_takeovers = 0;
  Duration longest_step{};  ///< of a move, at rest, while the process that has to take it is well
};

class Checkers final : public HistoryObserver, public ProcessObserver {
 public:
  using Processes = std::vector<std::unique_ptr<Process>>;
  Checkers(World& world, EtcdModel& etcd, const Processes& processes, CheckerOptions options);

  // Events.
  void Committed(std::int64_t revision, int origin) override;
  void LeaseEnded(std::int64_t lease, LeaseEnd how, int origin) override;
  void Ran(Process& process) override;
  void Reported(Process& process, const Transition& transition) override;
  void Entered(Process& process, ShardId shard, core::CallbackKind kind, Term term) override;
  void Called(Process& process, ShardId shard, core::CallbackKind kind, Term term) override;
  void Threw(Process& process, ShardId shard, core::CallbackKind kind, Term term) override;
  void Halted(Process& process, const Error& why) override;
  void Finished(Process& process, const core::Finished& finished) override;
  void Leaves(Process& process) override { standbys_.Leaves(process); }
  void Wrote(Process& process, ShardId shard, Term term) override;
  void Sent(Process& process, const pb::TxnRequest& request) override;
  /// Sets another observer of each process: it is called when something ran there.
  void WhenRan(std::function<void(Process&)> ran) { ran_ = std::move(ran); }
  /// Something is wrong now, or was until now: I5's clock starts again.
  void Disturbed() { disturbed_at_ = world_.now(); }
  /// A trouble strikes many processes now, or did until now: no process has to act in time.
  void Troubled() { troubled_at_ = world_.now(); }
  /// An operator has spoilt the group's config, or it is good again.
  void ConfigSpoilt(bool spoilt) {
    if (!spoilt && ConfigIsBadForLong()) config_bad_until_ = world_.now();
    if (spoilt != config_spoilt_at_.has_value()) config_spoilt_at_.reset();
    if (spoilt && !config_spoilt_at_) config_spoilt_at_ = world_.now();
  }
  /// etcd goes back in time: only who halts is still judged, by the caller. `restoring` is false
  /// again when that is over.
  void Restoring(bool restoring) { restoring_ = restoring; }
  /// Notes from now on when claims are sent that are carried out.
  void CountClaims() { claims_.emplace(); }
  /// When they were first sent, sorted; and ends the count.
  std::vector<TimePoint> TakeClaims();
  /// To be called regularly: checks the rules that have time limits.
  void Tick();

  // At rest.
  /// Says what the group lacks to be at rest; empty if it is at rest.
  std::string Unrest() const;
  void CheckRest();
  /// The moves that would balance the group as the store has it now, if `leaving` were draining.
  std::size_t MovesNeeded(const NodeId& leaving = {}) const;
  /// The fewest moves after which all members except `without` have their shares, as the project's
  /// plan defines them. Computed here, so that a fault of the product's assignment shows.
  std::size_t FewestMoves(const NodeId& without = {}) const;
  /// Judges where the placement rules have brought the shards.
  void CheckPlaced();
  /// Whether a member says that activations fail there: it gets nothing until one succeeds.
  bool SomeNodeFails() const;
  /// Names who does not stand by as it should, or does not say so; empty: nobody.
  std::string StandbysUnsettled() const;
  /// The most shards that each other node may hold if this one dies: a quarter and 3 more than its
  /// share among the nodes that the rules want then. If a rule keeps nodes from taking over: or
  /// what it has and is the first ready standby for.
  std::map<NodeId, std::size_t> MostHeldAfter(const NodeId& dead);
  /// Leaves out shards for which a node became ready, or ceased to be, before they were claimed.
  void CheckHeld(const std::map<NodeId, std::size_t>& most);
  /// This node is about to die, at rest, under such a rule: each of its shards has to go to its
  /// first ready standby. REQUIRES: no node fails.
  void ExpectHeirs(const NodeId& dead, HeirRule rule);
  /// Judges the claims since then. `at_once`: all nodes saw the same vacancies at once; otherwise
  /// nothing is judged, because a node passes over another one that still waits.
  void JudgeHeirs(bool at_once);
  /// How long claims of the shard wait, if its present leader dies now or has died. 0 if that does
  /// not count.
  Duration WaitIfItDies(ShardId shard) const;
  Duration LongestWaitIfOneDies() const;
  /// Every shard has a leader that leads it.
  bool AllLed() const;
  /// Whether a process holds claims back because a shard's leaders died soon.
  bool SomeShardWaits() const;
  /// Whether all processes judged the same of deaths at each claim since the last call. If a clock
  /// is wrong they differ: then some claim what others still wait for.
  bool TakeAgreedOnDeaths() { return std::exchange(agreed_on_deaths_, true); }
  /// The process is about to crash.
  void NoteCrash(const Process& process);
  /// The operator asks a node to release this shard by force.
  void NoteReleaseAsked(ShardId shard) { releases_asked_.insert(shard); }
  void NoteStorm(Storm storm) { ++observed_.storms[static_cast<std::size_t>(storm)]; }
  /// How many shards it leads.
  std::size_t LeadsOf(const Process& process) const;
  /// The node has a member key that lives.
  bool IsMember(const NodeId& node) const;
  /// The view that the store would give now.
  core::View Truth() const;

  const std::vector<std::string>& violations() const { return violations_; }
  /// One of I1 to I14 is violated: the run need not go on.
  bool decided() const { return violations_.size() > (core_wrong_ ? 1 : 0); }
  const Observed& observed() const { return observed_; }
  /// As the store has them now.
  const MoveFact* MoveOf(ShardId shard) const;
  const RecordFact& RecordOf(ShardId shard) const { return shards_.at(shard.value).record; }
  /// The process that plans; null if there is none.
  Process* Planner() const;
  void Violation(const char* invariant, const std::string& what);

 private:
  struct ShardHistory {
    RecordFact record;       ///< now
    TimePoint written_at{};  ///< when the record became so
    Revision ripe;           ///< of the record that a mark `ripe/…` allows everybody to claim
    TimePoint led_since{};   ///< when it became so, or its first leader in turn began
    std::map<std::int64_t, RecordFact> by_term;
    std::map<std::int64_t, TimePoint> tampers;  ///< revisions that an operator wrote
    std::optional<SessionRef> last_readable;    ///< named by the record before it was damaged
    TimePoint damaged_at{};
    std::map<std::int64_t, int> led_by;  ///< process by term
    std::int64_t newest_led = 0;         ///< the greatest term that any process led with
    NodeId last_leader;
    SessionId last_session;            ///< in which that one led
    std::uint64_t last_directory = 0;  ///< and with which state directory
    /// Somebody might follow that one, by a release, a handoff, or because the policy was not
    /// kNever.
    bool given_up = false;
    bool claimed_under_never = false;  ///< the record's present leader
    std::optional<TimePoint> vacant_since;
    std::int64_t fence = 0;                   ///< the newest term the resource has seen
    std::set<std::int64_t> reported;          ///< terms
    std::map<std::int64_t, TimePoint> threw;  ///< when `acquired` first failed, by term
    std::optional<TimePoint> overlap_since;
  };
  struct Led {
    Term term;
    bool leads = false;
    Term acquired;   ///< the last term for which the application was asked to activate the shard
    Term releasing;  ///< and to release it
    /// The last term in which the application took the shard up while it was led, unless that is
    /// late.
    Term took;
    /// The term in which the application acts on the shard: from when it is in `acquired` until it
    /// has returned from `releasing` or `lost`, or failed to take the shard up.
    Term acts;
    Revision known;  ///< of the record, in the process's view
    /// The last term in which `acquired` failed, when it last did, and how often since it last
    /// succeeded; and how often before that.
    Term failed;
    TimePoint failed_at{};
    int failures = 0;
    int failures_before = 0;
    /// An operator's change of the shard's record, and the time of the first confirmation with a
    /// later revision.
    std::int64_t change = 0;
    std::optional<TimePoint> told_at;
  };
  struct Known {
    SessionId session;
    TimePoint since{};
  };
  /// A node's sessions as a process has seen them. How many of the last ones in a row were short is
  /// counted so that the process itself, by its clock, counts no fewer, and no more. It may have
  /// seen more of them than is seen here, if it heard of several at once.
  struct Came {
    Revision known;                    ///< of the member key
    std::optional<SessionId> session;  ///< nullopt: the node is not here
    SessionId last;                    ///< also once the node has gone
    TimePoint since{};                 ///< when the process saw it come, or go, at the earliest
    TimePoint since_at_most{};         ///< and at the latest
    bool idle = false;                 ///< it had no write under way then
    bool from_start = false;           ///< it was here when the process first read the group
    int short_at_least = 0;
    int short_at_most = 0;
  };
  /// A key and value that a process sent.
  struct SentRecord {
    TimePoint first{};
    Term acted;  ///< the term in which the application acted on the shard when it was last sent
    /// When the process last had no write under way before it first sent this: it decided later.
    TimePoint decided_after = TimePoint::min();
    int copies = 0;
  };
  struct Seen {
    std::vector<Led> shards;
    TimePoint deadline = TimePoint::min();
    Revision complete;              ///< its view's
    std::map<NodeId, Known> alive;  ///< the last session of each node that the process knew to live
    std::map<std::string, SentRecord> records;  ///< by key and value
    TimePoint nothing_open = TimePoint::min();  ///< when it last had no write under way
    std::map<NodeId, Came> came;
    bool idle = true;                               ///< it had no write under way when it last ran
    bool read = false;                              ///< its view was complete then
    TimePoint succeeded_at = TimePoint::min();      ///< when an `acquired` last returned
    TimePoint succeeded_before = TimePoint::min();  ///< and when another one did before that
    unsigned turns = 0;                             ///< how often something ran there
  };
  /// Who plans moves under the limit: the balancer, or a leader on which a shard fails.
  struct PlannedBy {
    int process = 0;
    SessionId session;
    bool balancer = false;
    friend bool operator==(const PlannedBy&, const PlannedBy&) = default;
  };
  struct Move {
    MoveFact fact;
    Revision changed;  ///< the revision of its last change, deletion included
    /// the last leadership for whose end the target prepared, and when it first did
    Term prepared;
    TimePoint prepared_at{};
    TimePoint since{};  ///< when it was planned, or prepared
    std::optional<TimePoint> void_since;
    // Of its last plan.
    TimePoint planned_at{};
    std::optional<PlannedBy> by;       ///< nullopt: an operator's, or not known
    const SentRecord* sent = nullptr;  ///< by the planner; null: not known
  };
  /// The session that has to act for a move, since when, and within which time.
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
  bool AgreeOnDeaths() const;
  bool ConfigIsBadForLong() const {
    return config_spoilt_at_ && world_.now() - *config_spoilt_at_ >= core::kConfigPatience;
  }
  void CheckWaited(ShardId shard, const RecordFact& before, TimePoint began, int origin);
  void CheckProven(ShardId shard, const RecordFact& before, TimePoint began, int origin);
  void CheckDamageReplaced(ShardId shard, int origin);
  void NoteDamage(ShardId shard, const RecordFact& before, const RecordFact& after);
  void CheckMove(const MoveFact& after, int origin);
  void CheckPlanner(const MoveFact& planned, int origin);
  // The limit of planned moves in flight (checkers_limits.cc).
  void NoteLimits(const PolicyFact& after);
  void NoteMovable(const MemberFact& before, const MemberFact& after);
  void NotePlan(Move& planned, int origin);
  void CheckLimit(const Move& planned);
  std::optional<PlannedBy> WhoPlanned(const MoveFact& planned, int origin) const;
  bool SurelyInFlight(const Move& move, const Move& planned) const;
  std::uint32_t MostMoves(const Move& planned) const;
  // Members that come and go (checkers_members.cc).
  void NoteCame(const Process& process, Seen& seen);
  bool NoteCame(const NodeId& node, Came& came, std::optional<SessionId> session,
                Revision known) const;
  void NoteMember(const MemberFact& before, const MemberFact& after);
  static bool DecidedSince(const Seen& seen, const Came& came, TimePoint sent);
  void CheckBrake(ShardId shard, int origin);
  void CheckUnsteady(const NodeId& node, const std::string& key, int origin);
  bool Prevail(const Seen& seen, int origin, TimePoint sent) const;
  void CheckMayGet(const NodeId& node, const std::string& key, int origin);
  void CheckPlacement(ShardId shard, const RecordFact& before, const RecordFact& after, int origin);
  // Standbys (checkers_standbys.cc).
  void NoteStandbys(const std::vector<Fact>& facts);
  void CheckReadyFirst(ShardId shard, const RecordFact& before, const RecordFact& after,
                       int origin);
  void NoteHeir(ShardId shard, const NodeId& leader);
  void CheckOrder(ShardId shard, const NodeId& heir, const core::View& truth);
  void CheckSaid(const Process& process, const pb::PutRequest& put);
  // Failover settings (checkers_failover.cc).
  struct Away {
    TimePoint began{};
    TimePoint counts_from{};        ///< when it began, or the one before that did not end
    std::optional<TimePoint> back;  ///< nullopt: it goes on
  };
  void NoteLabels(const MemberFact& member);
  void NoteSettings(const ConfigFact& after);
  void NoteFailover(const FailoverSettings& after);
  void NoteAway(const MemberFact& before, const MemberFact& after);
  void NoteRipe(const RipeFact& mark);
  const NodeId& OwnerOf(const RecordFact& record) const;
  bool ClaimedByOwner(const RecordFact& before, const RecordFact& after) const;
  TimePoint KeptSince(const RecordFact& record, TimePoint written) const;
  void CheckFailover(ShardId shard, const RecordFact& before, const RecordFact& after);
  void CheckOwner(ShardId shard, const RecordFact& before, const RecordFact& after);
  void NoteGivenUp(ShardId shard, const RecordFact& after, int origin, bool by_leader);
  void NoteBegun(const Process& process, ShardId shard, const RecordFact& record);
  void FalselyEnded(const std::string& what);
  std::string Foreign(ShardId shard, const RecordFact& before, const RecordFact& after) const;
  void CheckAfter(ShardId shard, const RecordFact& before, const RecordFact& after);
  void CheckGaveReleased(ShardId shard, const RecordFact& before, const RecordFact& after,
                         int origin);
  void CheckLocked(ShardId shard, const RecordFact& before, const RecordFact& after);
  // Activations that fail (checkers_failing.cc).
  void CheckOtherTry(const MoveFact& move, int origin);
  void CheckNoSink(const NodeId& node, const std::string& key, int origin);
  void CheckFailingEnds();
  void CheckPause(const Process& process, ShardId shard, Term term);
  bool Knew(int origin, TimePoint decided, TimePoint since) const;
  const SentRecord* SentBy(int origin, const std::string& key) const;
  std::optional<TimePoint> FirstSent(const std::string& key, int origin) const;
  void CheckPolicy(const PolicyFact& after, int origin);
  void CheckConfig(const ConfigFact& after, int origin);
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
  /// Checks that no process leads the shard by another term than its record's.
  void CheckGround(ShardId shard);
  void CheckNobodyLeads(SessionId session);
  void CheckCore(const Process& process);
  // A process's knowledge, and its conclusions from it (checkers_knowledge.cc).
  void CheckShard(Process& process, ShardId shard, Led& seen, bool knows_its_end);
  void CheckKnown(const Process& process, ShardId shard, Led& seen, bool knows_its_end);
  bool KnowsItsEnd(const Process& process) const;
  void CheckDeadline(const Process& process, Seen& seen);
  void CheckComplete(const Process& process, Seen& seen);
  void CheckVoidMoves(const Process& process);
  void CheckShown(Process& process);
  void CheckOverlaps();
  void CheckEndsEarly(const Process& process);
  void CheckUnaware(const Process& process, ShardId shard);
  std::string UnawareTooLong(const Process& process, Led& seen, std::int64_t change, TimePoint at);
  /// How long a process can go on leading once its session is no longer renewed.
  Duration LeadsOnAtMost(const Process& process) const;
  void CheckBegins(Process& process, ShardId shard, Term term);
  void CheckAlone(Process& process, ShardId shard);
  void EndOverlap(ShardId shard);

  bool Alive(const NodeId& node, SessionId session) const;
  bool Excused(const Process& process, ShardId shard, Term term) const;
  Process* Of(int origin) const;
  /// The process knew the record's session while that lived, before it first sent what replaces it.
  bool SawAlive(int origin, ShardId shard, const RecordFact& record) const;
  void NoteRecords(const Process& process, const pb::TxnRequest& request, Seen& seen);
  /// Nor does a child of it live.
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
  std::map<std::string, ShardId> shard_of_key_;
  std::map<ShardId, Move> moves_;
  RecordFact balancer_;
  TimePoint balancer_since_{};
  std::map<NodeId, MemberFact> members_;
  TimePoint members_changed_at_{};
  std::map<SessionId, int> session_process_;
  std::set<std::string> policies_put_;
  Revision policies_changed_;        ///< of the policy kChanged; 0: absent
  std::set<SessionId> established_;  ///< sessions that their processes knew to be theirs
  std::set<SessionId> lost_;     ///< established ones whose member key was deleted or changed hands
  std::set<SessionId> excused_;  ///< sessions that etcd or an operator ended early
  std::map<SessionId, TimePoint> ended_at_;  ///< when the session's member key went
  std::map<int, TimePoint> joined_at_;       ///< by process: when its first member key was put
  std::set<NodeId> joined_;                  ///< nodes that ever had a member key
  std::map<NodeId, SessionId> last_session_;
  std::map<NodeId, std::vector<Revision>> session_ends_;
  std::set<SessionId> leavers_;  ///< sessions that said that they leave
  TimePoint eligible_at_{};      ///< when a drain policy, or who is well, last changed
  bool claimed_ = false;         ///< a node has led a shard
  std::map<int, Seen> seen_;
  std::function<void(Process&)> ran_;
  TimePoint disturbed_at_{};
  TimePoint troubled_at_{};
  std::map<int, TimePoint> unwell_at_;  ///< by process: when it was last held up
  Revision stored_before_;              ///< the store's revision, a tick ago
  std::map<int, SentNow> sent_;
  std::vector<std::string> violations_;
  bool core_wrong_ = false;
  std::map<ShardId, NodeId> heirs_;    ///< who has to claim it (ExpectHeirs)
  std::map<ShardId, NodeId> took_it_;  ///< who did, while the same nodes were ready
  TimePoint heirs_since_{};
  TimePoint held_since_{};           ///< of the last MostHeldAfter
  std::set<ShardId> changed_heirs_;  ///< claimed since, when other nodes were ready than then
  HeirRule heirs_by_{};
  Observed observed_;
  std::optional<TimePoint> config_spoilt_at_;  ///< since when it is; nullopt: it is good
  std::optional<TimePoint> config_bad_until_;  ///< the end of the last time that was long
  bool agreed_on_deaths_ = true;               ///< since the last TakeAgreedOnDeaths
  std::optional<std::vector<TimePoint>> claims_;
  bool restoring_ = false;
  Placement placement_;  ///< as the last readable config has it
  TimePoint placement_changed_at_{};
  /// When the node's session, zone or labels last changed, or whether it lives.
  std::set<const SentRecord*> committed_plans_;  ///< moves that were committed as planned
  std::map<NodeId, TimePoint> movable_changed_at_;
  /// The policy's limits of moves in flight, the present one at the end, and since when they hold;
  /// 0: none was ordered.
  std::vector<std::pair<TimePoint, std::uint32_t>> max_moves_{{TimePoint{}, 0}};
  /// A session's readable member records with different labels, the last one at the end, and when
  /// it was written.
  std::map<SessionId, std::vector<std::pair<TimePoint, MemberFact>>> said_;
  std::set<ShardId> releases_asked_;
  FailoverSettings failover_;  ///< as the last readable config has them
  Duration longest_delay_{};   ///< of FailoverPolicy::kAfter, of all configs so far
  Duration shortest_delay_ = Duration::max();
  bool failed_over_otherwise_ = false;  ///< some config so far had another policy than kImmediate
  bool locked_once_ = false;            ///< some config so far had a lock delay
  TimePoint written_before_{};  ///< when the record before the one that is judged was written
  std::map<NodeId, std::vector<Away>> away_;
  StandbyChecker standbys_{[this](const std::string& what) { Violation("I14", what); }};
  bool standbys_asked_ = false;  ///< the rules asked for standbys, now or before
  std::set<SessionId> proven_;   ///< sessions that a `died` or a takeover of the key ended
};

}  // namespace baton::sim
