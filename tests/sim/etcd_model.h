// EtcdModel: an etcd cluster of three members on virtual time. Clients speak to it in etcd's own
// messages.
//
// There is one history: the raft leader commits commands one after another (Store is what they
// change). Each member applies them some time later, and answers from what it applied. Writes and
// linearizable reads need a leader with a quorum; without one they are never answered. Serializable
// reads, watches and the headers of keepalives show the answering member's own state, which may
// lag. Leases live on the raft leader. They last 2 s at least; the leader looks through them every
// 500 ms; and each new leader starts them again at full length (and an election timeout).
//
// Personality::kDocumented keeps what etcd promises. k3423 also has the faults of 3.4.23, each of
// which happens only if the simulation asks for it:
//
//   - A stuck leader that was deposed goes on renewing leases, and later has live ones revoked.
//
//   - Leases are renewed that are about to be revoked.
//
//   - Watches fall silent, repeat events, or miss a deletion at a compaction.
//
//   - Progress overtakes events.
//
// Left out: auth, the calls for alarms, learners, disk sizes, sorting, and puts and watches with
// ignore_value, ignore_lease and filters.
//
// For one thread; everything happens in World's events.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/store.h"
#include "sim/world.h"

namespace baton::sim {

enum class Personality { kDocumented, k3423 };

/// Answers that versions give in different ways, none of which breaks a promise of etcd's. By
/// default as the newest, which tells least.
struct Dialect {
  /// A progress request is answered although the watch has still to send events.
  bool progress_while_behind = false;
  /// A progress request is answered although the watch begins at a revision that is yet to come.
  bool progress_before_start = false;
  /// A read of keys alone tells their leases.
  bool keys_only_tells_leases = false;
  /// A transaction's operations are checked in their order, not puts before ranges.
  bool checks_in_order = true;
  /// The quota counts puts of nested transactions.
  bool nested_puts_need_space = true;
};
/// That of a real version. 3.4.23, 3.5.16, 3.5.35, 3.6.16 and 3.7.3 were compared; in between it is
/// as their sources have it.
Dialect DialectOf(const std::string& version);

struct EtcdModelOptions {
  Personality personality = Personality::kDocumented;
  Dialect dialect = {};  ///< of kDocumented; k3423 speaks as 3.4.23 does
  int operations = 128;  ///< --max-txn-ops
  Duration election_timeout = milliseconds(1000);
  Duration commit_least = microseconds(300);
  Duration commit_most = microseconds(2500);
  Duration progress_interval = std::chrono::minutes(10);
  /// How many revisions with events a watch that is behind gets in one message.
  int watch_batch = 1000;
};

/// The origin of a change: a process's number, or one of these.
inline constexpr int kByEtcd = -1;
inline constexpr int kByOperator = -2;
inline constexpr int kByGuard = -3;

enum class LeaseEnd {
  kExpired,
  kRevoked,      ///< asked for by `origin`
  kRevokedLate,  ///< by a deposed leader, though the lease lived
};

/// Observes the history as it is made.
class HistoryObserver {
 public:
  virtual ~HistoryObserver() = default;
  /// `revision` has just been committed.
  virtual void Committed(std::int64_t revision, int origin) = 0;
  /// Called before the revision in which the lease's keys are deleted.
  virtual void LeaseEnded(std::int64_t lease, LeaseEnd how, int origin) = 0;
};

template <typename Response>
using Replied = std::function<void(const Failure&, const Response&)>;
using WatchId = std::uint64_t;

class EtcdModel {
 public:
  static constexpr int kMembers = 3;
  static constexpr std::uint64_t kFirstRaftTerm = 2;
  static constexpr std::uint64_t kClusterId = 0xBA7011;

  EtcdModel(World& world, EtcdModelOptions options);
  void Observe(HistoryObserver* observer) { observer_ = observer; }
  /// Sets what tells what the holder of a lease has under way, for counting what strikes it.
  void TellHolder(std::function<Phases(std::int64_t lease)> holder) { holder_ = std::move(holder); }

  // Clients' requests of a member, as they arrive there. If the member does not answer, no answer
  // will ever come.
  void Range(int member, const pb::RangeRequest& request, Replied<pb::RangeResponse> reply);
  void Txn(int member, std::shared_ptr<const pb::TxnRequest> request, int origin,
           Replied<pb::TxnResponse> reply);
  void Grant(int member, const pb::LeaseGrantRequest& request, int origin,
             Replied<pb::LeaseGrantResponse> reply);
  void Revoke(int member, const pb::LeaseRevokeRequest& request, int origin,
              Replied<pb::LeaseRevokeResponse> reply);
  void TimeToLive(int member, const pb::LeaseTimeToLiveRequest& request,
                  Replied<pb::LeaseTimeToLiveResponse> reply);
  void KeepAlive(int member, std::int64_t lease,
                 std::function<void(const pb::LeaseKeepAliveResponse&)> reply);
  void Status(int member, Replied<pb::StatusResponse> reply);
  WatchId Watch(int member, const pb::WatchCreateRequest& request,
                std::function<void(pb::WatchResponse)> send);
  void Progress(WatchId watch);
  /// Whether answers to Progress prove what the watch was sent: those of 3.4.23 don't.
  bool ProgressIsProof() const { return !options_.dialect.progress_while_behind; }
  void Cancel(WatchId watch) { watches_.erase(watch); }

  // Members. A member that is down accepts no connection; a frozen one accepts connections and says
  // nothing until it thaws; an isolated one is cut off from the other members only.
  bool Up(int member) const { return members_[Index(member)].up; }
  bool Frozen(int member) const { return members_[Index(member)].frozen; }
  void SetUp(int member, bool up);
  void SetFrozen(int member, bool frozen);
  void SetIsolated(int member, bool isolated);
  /// The leader's disk gets stuck, or recovers (false). REQUIRES: k3423.
  void SetStuck(int member, bool stuck);
  void SetLag(int member, Duration lag) { members_[Index(member)].lag = lag; }
  /// The member refuses calls and new streams without looking at them: it does not know their
  /// tokens.
  void SetRefusesTokens(int member, bool refuses) {
    members_[Index(member)].refuses_tokens = refuses;
  }
  bool RefusesTokens(int member) const {
    const Member& state = members_[Index(member)];
    return state.up && !state.frozen && state.refuses_tokens;
  }
  void SetClockRate(int member, int ppm) { members_[Index(member)].ppm = ppm; }
  /// Commits wait until the stall is over: the leader's disk or a follower is slow. The leader does
  /// not step down, renews leases, and answers reads. If another one is elected, its commits wait
  /// as well: the members share slow storage.
  void SetStalled(bool stalled);
  bool stalled() const { return stalled_; }
  /// The leader steps down in favour of another.
  void MoveLeader();
  int leader() const { return leader_; }
  bool Serving() const { return leader_ >= 0 && Connected(leader_) && Quorum(); }
  std::uint64_t raft_term() const { return raft_term_; }
  std::uint64_t elections() const { return elections_; }

  // Other troubles.
  /// Fills the database. The member that is asked refuses puts and grants. A request that was under
  /// way is carried out, and yet answered as refused, until the alarm that each such answer asks
  /// for is committed. From then on all are refused, until an operator disarms it.
  void Fill() {
    full_ = true;
    fill_under_ = {};
  }
  /// Fills it while a put of one of these phases is under way: at once if one is, or under the
  /// next. If none of these phases puts, it fills at once.
  void FillUnder(Phases phases);
  void Free() {
    full_ = false;
    fill_under_ = {};
  }
  void Disarm() { alarm_ = false; }
  /// Sets the state that holds long after Fill, or long after Free and Disarm.
  void SetNoSpace(bool full) {
    Free();
    full_ = alarm_ = full;
  }
  void SetOperations(int operations) { options_.operations = operations; }
  Failure Compact(std::int64_t revision);
  /// A watch of that member sends nothing any more. REQUIRES: k3423.
  void Silence(int member);
  /// Watches of that member go back by this many revisions. REQUIRES: k3423.
  void Repeat(int member, std::int64_t revisions);
  void LoseDeletions(bool lose) { lose_deletions_ = lose; }

  struct Lease {
    Duration ttl{};
    TimePoint expires{};
    bool revoking = false;
  };
  /// A file that `etcdctl snapshot save` writes. A default one is an empty etcd.
  struct Backup {
    Store store;
    std::map<std::int64_t, Lease> leases;
  };
  Backup Save() const { return {store_, leases_}; }
  /// All members end; then they start with the backup's data and the same cluster id. Raft terms
  /// begin again, and leases have their full TTL.
  void Restore(Backup backup);

  // An operator's own tools; done at once.
  bool OperatorTxn(const pb::TxnRequest& request);
  bool OperatorRevoke(std::int64_t lease);

  /// Counts the requests of clients to its members, and what these sent to watches.
  struct Served {
    std::uint64_t transactions = 0;
    std::uint64_t ranges = 0;
    std::uint64_t keepalives = 0;
    std::uint64_t events = 0;  ///< once for each watch that shows it
    std::uint64_t total_requests() const { return transactions + ranges + keepalives; }
  };
  const Served& served() const { return served_; }

  const Store& store() const { return store_; }
  bool LeaseLives(std::int64_t lease) const { return leases_.contains(lease); }
  /// When the lease runs out unless it is renewed or a new leader comes; if it is gone, the distant
  /// past.
  TimePoint LeaseEnds(std::int64_t lease) const {
    const auto found = leases_.find(lease);
    return found != leases_.end() ? found->second.expires : TimePoint::min();
  }
  std::vector<std::int64_t> Leases() const;

 private:
  struct Applied {
    TimePoint due{};
    std::int64_t revision = 0;
    std::function<void()> reply = {};  ///< to the client that asked this member
  };
  struct Member {
    bool up = true;
    bool frozen = false;
    bool isolated = false;
    bool stuck = false;
    bool refuses_tokens = false;
    std::uint64_t raft_term = 1;
    std::int64_t revision = 1;
    Duration lag{};
    int ppm = 0;
    std::deque<Applied> queue = {};
    bool pumping = false;
    bool syncing = false;
    std::vector<std::function<void()>> backlog = {};  ///< while frozen
    /// The leases that a leader which was cut off still believes in, until then.
    std::map<std::int64_t, Lease> believed = {};
    TimePoint believes_until{};
  };
  struct WatchState {
    int member = 0;
    std::string begin;
    std::string end;
    std::int64_t start = 0;  ///< the first revision that it was opened for
    std::int64_t next = 0;
    bool synced = false;
    bool silent = false;
    bool notify = false;
    bool previous = false;  ///< prev_kv
    TimePoint said{};
    std::function<void(pb::WatchResponse)> send;
  };
  using Reply = std::function<void()>;
  /// Changes the state when it is committed, and says how to answer.
  using Command = std::function<Reply()>;
  struct Proposal {
    Command command;
    int member = 0;
    Phases phase{};  ///< of the client that asked; empty: etcd or an operator
  };

  static std::size_t Index(int member) { return static_cast<std::size_t>(member); }
  bool Connected(int member) const;
  bool Quorum() const;
  pb::ResponseHeader Header(int member, std::int64_t revision) const;
  /// Runs now, or once the member thaws.
  void Serve(int member, Phases phase, std::function<void()> what);
  /// Which fault explains that the member gives no answer.
  Fault WhyUnserved(int member) const;

  /// Has the store answer as the dialect says.
  void TeachStore();
  void Propose(int member, Phases phase, Command command);
  void Commit(std::uint64_t number);
  void Carry(const Proposal& proposal);
  void Enqueue(int member, Reply reply, Phases phase);
  bool Watched(int member) const;
  void SchedulePump(int member);
  void Pump(int member);

  void Reconsider();
  void LoseLeader();
  void ScheduleElection();
  void Elect();
  void CommitLimbo();

  Reply ApplyTxn(int member, const pb::TxnRequest& request, int origin,
                 const Replied<pb::TxnResponse>& reply);
  Reply ApplyGrant(int member, const pb::LeaseGrantRequest& request,
                   const Replied<pb::LeaseGrantResponse>& reply);
  Failure ApplyRevoke(std::int64_t lease, LeaseEnd how, int origin);
  std::int64_t LeastTtl() const;
  /// Whether it has puts that etcd counts.
  bool NeedsSpace(const pb::TxnRequest& request) const;
  void RaiseAlarm(int member);
  Duration OnLeaderClock(Duration ttl) const;
  std::int64_t RenewOnLeader(std::int64_t id);
  void Scan();
  void RevokeLate(Member& member);

  void ServeWatches(int member);
  void Send(WatchState& watch);
  void AddPrevious(pb::Event& event) const;
  void Sync(int member);
  void SyncOne(WatchState& watch);
  void Tell(WatchState& watch, pb::WatchResponse response);
  void NotifyProgress();

  World& world_;
  Random random_;
  EtcdModelOptions options_;
  HistoryObserver* observer_ = nullptr;
  std::function<Phases(std::int64_t)> holder_;
  Store store_;
  Served served_;
  std::array<Member, kMembers> members_;
  int leader_ = 0;
  std::uint64_t raft_term_ = kFirstRaftTerm;
  std::uint64_t elections_ = 0;
  bool electing_ = false;
  bool full_ = false;
  Phases fill_under_;  ///< one of these, once it is proposed
  bool alarm_ = false;
  bool lose_deletions_ = false;
  std::map<std::int64_t, Lease> leases_;
  TimePoint last_commit_{};
  bool stalled_ = false;
  std::vector<std::uint64_t> waiting_;  ///< proposals, for the end of the stall
  std::uint64_t next_proposal_ = 1;
  std::map<std::uint64_t, Proposal> proposals_;
  std::vector<Proposal> limbo_;  ///< in some members' logs when they lost their leader
  WatchId next_watch_ = 1;
  std::map<WatchId, WatchState> watches_;
};

}  // namespace baton::sim
