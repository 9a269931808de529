// Cluster: several Cores and one FactStore on virtual time, with any fault between them that a test
// asks for. One seed decides everything random, so a run can be repeated exactly.
//
// After every step of every node it checks what must hold at any instant (see Check). It keeps each
// violation, with the time, in violations(); the tests print them together with the seed.
//
// Only for tests: one thread, no clock.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/core.h"
#include "core/fact_store.h"
#include "core/invariants.h"
#include "core/texts.h"

namespace baton::test {

/// The result of violations() if nothing was violated.
inline const std::vector<std::string> kNone;

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A kind of write, for Cluster::DenyWrites.
template <typename T>
bool IsA(const Write& write) {
  return std::holds_alternative<T>(write);
}

/// The probabilities of faults in calls, in thousandths. All zero: a good network.
struct Faults {
  /// the request never arrives; the caller learns that the outcome is unknown
  int lose_request = 0;
  int lose_reply = 0;  ///< the request arrives; the caller learns that the outcome is unknown
  int late = 0;        ///< unknown now; the request arrives seconds later
  int duplicate = 0;   ///< the request arrives twice, the second time later
  int fail_callback = 0;
  int slow_callback = 0;
};

/// How a node's callbacks behave, by kind; unset: they return after some milliseconds.
enum class Behaviour { kReturns, kThrows, kHangs };

struct ClusterOptions {
  std::uint64_t seed = 1;
  int nodes = 3;
  std::uint32_t shards = 12;
  std::function<void(core::CoreOptions&)> tune = [](core::CoreOptions&) {};
  Duration latency_least = milliseconds(1);
  Duration latency_most = milliseconds(3);
  Duration watch_delay_most = milliseconds(5);
  Duration expiry_late_most = milliseconds(500);
  bool listener = true;
  /// Whether to check what must hold after every step. It takes time in proportion to the shards.
  bool checks = true;
};

class Cluster {
 public:
  static constexpr std::uint64_t kClusterId = 4711;  ///< of the store

  explicit Cluster(ClusterOptions options);

  // Nodes are called n1, n2, ... Starting a node again is a restart. `proof`: its state directory
  // proves that the process before is dead.
  void Start(const NodeId& node, bool proof = false);
  void StartAll();
  /// The process ends at once. Requests that it sent still arrive.
  void Kill(const NodeId& node);
  /// The node makes no step until Resume; what arrives waits.
  void Pause(const NodeId& node);
  void Resume(const NodeId& node);
  void Drain(const NodeId& node) { Deliver(node, core::DrainRequested{}); }
  void Stop(const NodeId& node) { Deliver(node, core::StopRequested{}); }
  core::RequestId Transfer(const NodeId& via, core::TransferRequested ask);
  core::RequestId Policy(const NodeId& via, const PolicyName& name, bool present = true,
                         TimePoint answer_by = TimePoint::max());

  // etcd and the ways to it.
  FactStore& store() { return store_; }
  /// Nothing from this node arrives anywhere until `cut` is false again.
  void CutOff(const NodeId& node, bool cut = true);
  void Outage(bool out);
  /// etcd's database is full: a write that puts anything is not applied, and its outcome stays
  /// unknown.
  void Fill(bool full) { full_ = full; }
  /// A stuck etcd leader, which is deposed by now, answers this node's keepalives with OK and
  /// renews nothing.
  void LieToKeepAlives(const NodeId& node, bool lie = true);
  /// The node's watch is silent until it is opened again.
  void StickWatch(const NodeId& node);
  /// The node's watch is silent until `hold` is false again, even if it is opened again.
  void HoldWatch(const NodeId& node, bool hold = true);
  /// The answers to this node's writes are lost (the writes are applied).
  void LoseReplies(const NodeId& node, bool lose = true);
  /// The node's writes wait on the way, their outcome unknown, until LetWrites.
  void HoldWrites(const NodeId& node);
  void LetWrites(const NodeId& node);
  /// New writes pass; those that wait still need LetWrites.
  void PassNewWrites(const NodeId& node) { nodes_.at(node).hold_writes = false; }
  /// The node's new writes never leave it, and after `notice` it knows so. Unset: they pass.
  void KeepWrites(const NodeId& node, std::optional<Duration> notice) {
    nodes_.at(node).kept_for = notice;
  }
  /// etcd denies the node these writes, without a look at their guards; unset: denies none any
  /// more.
  void DenyWrites(const NodeId& node, std::function<bool(const Write&)> which) {
    nodes_.at(node).denied = std::move(which);
  }
  void Behave(const NodeId& node, core::CallbackKind kind, Behaviour behaviour);
  void Behave(const NodeId& node, core::CallbackKind kind, ShardId shard, Behaviour behaviour);
  /// From now on the node's wall clock is wrong by this much.
  WallTime WallClockOf(const NodeId& node) const;
  void SetWallClockOff(const NodeId& node, seconds off) { nodes_.at(node).wall_clock_off = off; }
  Faults faults;

  // Operators who break the rules. The checks leave out what only the fence protects then.
  void RevokeLeaseOf(const NodeId& node);
  void DeleteMember(const NodeId& node);
  void DeleteRecord(ShardId shard);
  void DeletePolicies();
  void DamageRecord(ShardId shard, Readability readability = Readability::kDamaged);

  /// Starts every node and waits until the group has settled. Returns whether it did.
  bool Up();

  // Time.
  void Run(Duration length);
  /// Runs until `done` is true, at most for `most`. Returns whether it became true.
  bool RunUntil(const std::function<bool()>& done, Duration most);
  TimePoint now() const { return now_; }
  /// Gives the node an event now, as its runtime would.
  void Deliver(const NodeId& node, core::Event event);
  /// Calls `then` after this long.
  void After(Duration length, std::function<void()> then) { At(now_ + length, std::move(then)); }
  std::uint64_t Random(std::uint64_t below);

  // Observations.
  bool Running(const NodeId& node) const;
  bool Leads(const NodeId& node, ShardId shard) const;
  bool Activated(const NodeId& node, ShardId shard) const;
  /// The node that leads now; empty if nobody does.
  NodeId LeaderOf(ShardId shard) const;
  std::size_t LedBy(const NodeId& node) const;
  std::vector<ShardId> ShardsOf(const NodeId& node) const;
  Term TermOf(ShardId shard) const { return store_.Record(shard).term(); }
  const core::Core& core(const NodeId& node) const { return *nodes_.at(node).core; }
  core::Core& core(const NodeId& node) { return *nodes_.at(node).core; }
  std::optional<Error> halted(const NodeId& node) const;
  bool finished(const NodeId& node) const { return nodes_.at(node).finished.has_value(); }
  bool drained(const NodeId& node) const { return nodes_.at(node).finished.value_or(false); }
  const std::map<core::RequestId, Result<MoveFact>>& transfers() const { return transfers_; }
  const std::map<core::RequestId, Status>& policies() const { return policies_; }
  const std::vector<std::pair<NodeId, Transition>>& transitions() const { return transitions_; }
  std::vector<Transition> TransitionsOf(Reason reason) const;
  /// The actions of a kind that a node asked for, since it was created.
  template <typename T>
  std::vector<std::pair<TimePoint, T>> Asked(const NodeId& node) const {
    std::vector<std::pair<TimePoint, T>> result;
    for (const auto& [at, action] : nodes_.at(node).asked) {
      if (const T* found = std::get_if<T>(&action)) result.emplace_back(at, *found);
    }
    return result;
  }
  /// The writes of a kind that a node sent, with every copy, since it was created.
  template <typename T>
  std::vector<std::pair<TimePoint, T>> Sent(const NodeId& node) const {
    std::vector<std::pair<TimePoint, T>> result;
    for (const auto& [at, submit] : Asked<core::SubmitWrite>(node)) {
      if (const T* found = std::get_if<T>(submit.write.get())) result.emplace_back(at, *found);
    }
    return result;
  }
  std::uint64_t steps() const { return steps_; }
  const std::vector<std::string>& violations() const { return violations_; }
  /// Whether every shard is led and activated by one live node, each node is at its target, and
  /// there are no moves and no vacancies.
  bool Settled() const;
  /// Says what is missing for Settled, for failure messages.
  std::string WhyNotSettled() const;
  std::vector<NodeId> names() const;
  /// Called for each action, for traces.
  std::function<void(const NodeId&, const core::Action&)> on_action;
  /// Called for each event before the node gets it, and may change it.
  std::function<void(const NodeId&, core::Event&)> on_event;

 private:
  struct Callback {
    core::OperationId operation = 0;
    core::CallbackKind kind{};
  };
  struct Node {
    NodeId id;
    std::unique_ptr<core::Core> core;
    std::uint64_t generation = 0;
    bool paused = false;
    bool cut = false;
    std::uint64_t lied_term = 0;  ///< the raft term of a stuck leader that answers keepalives
    seconds wall_clock_off{0};
    bool lose_replies = false;
    bool hold_writes = false;
    std::vector<std::function<void()>> held_writes;
    std::optional<Duration> kept_for;
    std::function<bool(const Write&)> denied;
    std::deque<core::Event> inbox;
    TimePoint wake_at = TimePoint::max();
    std::optional<bool> finished;
    std::optional<Error> halted;

    // As published to Leads().
    TimePoint deadline = TimePoint::min();
    std::map<ShardId, std::pair<Term, bool>> leads;

    // The keepalive stream.
    std::uint64_t stream = 0;
    core::OperationId unanswered = 0;

    // The watch.
    bool watching = false;
    bool stuck = false;
    bool watch_held = false;
    bool watch_scheduled = false;
    Revision cursor;

    std::map<ShardId, std::deque<Callback>> callbacks;
    std::map<std::pair<core::CallbackKind, std::optional<ShardId>>, Behaviour> behaviour;

    // The state directory.
    SessionId recorded;
    Revision highest;

    // For the checks.
    std::vector<std::pair<TimePoint, core::Action>> asked;
    std::map<ShardId, Term> last_term;
    std::map<std::pair<ShardId, Term>, std::set<core::OperationId>> given_away;
    std::map<core::OperationId, Write> sent;
    std::set<std::pair<ShardId, Term>> reported;
    int steps_at_this_instant = 0;
    TimePoint stepped_at{};
  };
  struct Scheduled {
    TimePoint at;
    std::uint64_t order;
    std::function<void()> then;
    bool operator>(const Scheduled& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };

  void At(TimePoint at, std::function<void()> then);
  bool Next(TimePoint until);
  void Wake(Node& node);
  void Step(Node& node, const core::Event& event);
  void Perform(Node& node, const core::Action& action);
  void DeliverLater(Node& node, Duration delay, core::Event event);
  void Arrive(const NodeId& id, std::uint64_t generation, core::Event event);
  Duration Latency();
  bool Chance(int in_a_thousand) {
    return in_a_thousand > 0 && Random(1000) < std::uint64_t(in_a_thousand);
  }

  void Call(Node& node, std::function<core::Event()> apply, core::Event unknown, bool may_wait);
  void SendKeepAlive(Node& node, const core::SendKeepAlive& send);
  void Confirm(Node& node, const core::ConfirmSession& confirm);
  void Submit(Node& node, const core::SubmitWrite& submit);
  void Enqueue(Node& node, const core::RunCallback& callback);
  void RunNext(const NodeId& id, std::uint64_t generation, ShardId shard);
  Behaviour BehaviourOf(const Node& node, core::CallbackKind kind, ShardId shard) const;
  void ReadSnapshot(Node& node);
  void ScheduleWatches();
  void DeliverWatch(const NodeId& id, std::uint64_t generation);
  void ExpireLeases();

  void Check(const Node& stepped, bool idle);
  void CheckLed(const Node& node, const Node& stepped);
  void CheckPublished(Node& node, const core::SetLeadership& published);
  void CheckWrite(Node& node, const core::SubmitWrite& submit);
  void CheckReport(Node& node, const Transition& transition);
  void Settle(Node& node, const core::WriteAnswered& event);
  static void SettleAbandoned(Node& node, const Write& write, const WriteResult& result);
  void Violation(const std::string& text);
  bool Excused(const Node& node, ShardId shard, Term term) const;

  ClusterOptions options_;
  FactStore store_;
  std::uint64_t random_;
  TimePoint now_{seconds(1000)};
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
  std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> queue_;
  std::map<NodeId, Node> nodes_;
  Revision noticed_;  ///< the revision for which watches were scheduled last
  TimePoint expiry_scheduled_ = TimePoint::max();
  bool outage_ = false;
  bool full_ = false;
  core::RequestId next_request_ = 1;
  std::map<core::RequestId, Result<MoveFact>> transfers_;
  std::map<core::RequestId, Status> policies_;
  std::vector<std::pair<NodeId, Transition>> transitions_;
  std::set<SessionId> broken_sessions_;  ///< ended by an operator: only the fence covers them
  std::map<ShardId, Revision> broken_records_;  ///< rewritten by an operator at this revision
  Revision checked_{-1};                        ///< etcd as it was when all nodes were checked last
  std::vector<std::string> violations_;
};

}  // namespace baton::test
