// DemoStage: the steps of a demo. They start and stop nodes, wait, look, and check statements.
// DemoStage is the base class of Demo (demo.cc).
//
// One thread. Every wait has a bound: kPatience, or a bound that the function names. If a wait
// reaches its bound, the function says so by its result; a function without such a result throws
// DemoAbort. Functions also throw DemoAbort if the demo can't go on. Examples are Ctrl-C, a node
// that ended or halted by itself, and etcd or a node that gives no answer. demo.cc catches the
// exception.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/demo/board.h"
#include "app/demo/cluster.h"
#include "app/demo/demo.h"
#include "app/demo/observer.h"
#include "app/demo/report.h"

namespace baton::app {

struct DemoAbort {
  Error error;
};

class DemoStage {
 protected:
  // The bound of waits that don't depend on a lease. It is long, because a busy machine is slow.
  static constexpr std::chrono::seconds kPatience{60};
  // Shards must be led again within the TTL plus this time. etcd ends leases in steps of half a
  // second, and then nodes claim the shards.
  static constexpr std::chrono::seconds kGrace{3};
  static constexpr std::chrono::milliseconds kPoll{2};
  static constexpr std::chrono::seconds kAskedAfterWake{1};  // see ClaimSilent

  /// The moment at which a part of the demo begins.
  struct Start {
    std::size_t changes = 0;  ///< DemoObserver::ChangeCount at that moment
    TimePoint at{};
  };

  explicit DemoStage(const DemoOptions& options) : options_(options), report_(options.color) {}

  // ---- statements: each function prints PASS or FAIL ----

  /// Prints the statement. If DemoClaim::next is empty, the advice is to look at the logs.
  void Claim(DemoClaim claim);
  /// Prints the table of nodes. States three things: after `before`, the `led` shards of the node
  /// `gone` have got new leaders; no other shard moved; and the group is balanced. `done`: whether
  /// the wait for this ended in time.
  void ClaimTakenOver(const Start& before, NodeIndex gone, std::uint32_t led, bool done);
  /// States that exactly `fewest` shards have got a new leader after `before`, each of them only
  /// once, and that `expected` is true for each of these changes.
  void ClaimFewest(const Start& before, std::uint32_t fewest,
                   const std::function<bool(const SeenChange&)>& expected);
  /// Calls ClaimGaps for SeenChange::gap. Also prints how exact the observer's times are.
  void ClaimPlannedGaps(const Start& before);
  /// States that `gap` is at most `bound` (by default Bound()) for every change after `before`.
  /// Without a change, prints nothing. If all gaps are negative, prints a note instead.
  void ClaimGaps(const std::string& claim, const Start& before,
                 const std::function<Duration(const SeenChange&)>& gap) {
    ClaimGaps(claim, before, gap, Bound());
  }
  void ClaimGaps(const std::string& claim, const Start& before,
                 const std::function<Duration(const SeenChange&)>& gap, Duration bound);
  /// States that `took` is at most Bound().
  void ClaimInTime(const std::string& claim, Duration took);

  /// States that the observer saw no new violation of its rules. Prints those that have a line, and
  /// how many more there are. Then calls ClaimRecorded.
  void ClaimSafe();
  /// States that etcd's records name the leaders and terms that the observer sees.
  void ClaimRecorded();
  /// States that the node made sweeps (board.h) in the second after `woken`, and that these sweeps
  /// found no leadership in a term up to DemoBoard::Head::old_term. `sweeps_before`: Head::sweeps
  /// before the node was woken.
  void ClaimSilent(NodeIndex node, std::uint64_t sweeps_before, TimePoint woken);

  // ---- doing ----

  void NoteWaiting() { report_.Note("waiting until its lease of " + Ttl() + " runs out"); }

  /// Starts a node and waits until it serves.
  NodeIndex StartNode(std::uint32_t expect_nodes);

  /// Asks the application on this node to write, and returns at once. The application decides
  /// within milliseconds, and sends the write after `work`. REQUIRES (not checked): no earlier
  /// write is under way on the node. (WriteState is kIdle, or WriteEnded is true.)
  void AskWrite(NodeIndex node, ShardId shard, Duration work);
  /// Whether the state of a write is final.
  static bool WriteEnded(WriteState state);
  /// Asks for a write and waits for its end. Returns the last state. If the wait reached its bound,
  /// this state is not final (WriteEnded). REQUIRES: as for AskWrite.
  WriteState WriteNow(NodeIndex node, ShardId shard);

  /// Asks for a write, and stops the node's process between the application's decision and the
  /// sending of the write. Sets DemoBoard::Head::old_term to HighestTerm. If the stop comes too
  /// late, wakes the node and tries again. Throws after five attempts. REQUIRES: as for AskWrite.
  void StopAfterDecision(NodeIndex node, ShardId shard);

  // ---- seeing ----

  DemoObserver& observer() const { return cluster_->observer(); }

  Start Begin() const { return {observer().ChangeCount(), BootClock::now()}; }

  /// Sleeps. Throws if Interrupt happens during the sleep or has happened before.
  void Nap(std::chrono::milliseconds duration) const;
  /// Checks the condition at once, and then every 2 ms. Returns false if the condition did not
  /// become true within `patience`. Throws if meanwhile a node ended or halted by itself, or
  /// Interrupt happens.
  bool WaitUntil(std::chrono::milliseconds patience, const std::function<bool()>& condition);
  /// Waits until every shard is led.
  bool WaitLed(std::chrono::milliseconds patience);
  /// Waits until every shard is led and the group is Balanced.
  bool WaitBalanced(std::chrono::milliseconds patience);

  /// Returns how many shards a new node gets: the number of shards, divided by the number of nodes
  /// that take part, rounded down. The new node takes part. REQUIRES (checked): some node takes
  /// part.
  std::uint32_t ShareOfNewcomer() const;
  bool AllLed() const { return observer().Leaderless() == 0; }
  /// How many shards the node leads.
  std::uint32_t Share(NodeIndex node) const { return observer().Counts()[node]; }

  /// Whether the node runs and is neither stopped nor drained.
  bool TakesPart(NodeIndex node) const;

  /// Whether the shares of the nodes that take part differ by at most one.
  bool Balanced() const;
  /// Returns the highest term of all shards that are led now. 0: no shard is led.
  std::int64_t HighestTerm() const;
  /// Returns a shard that the node leads. Throws if the node leads nothing.
  ShardId AnyShardOf(NodeIndex node) const;
  /// Waits until DemoMembers has seen the node's member key created, and returns that time.
  TimePoint Joined(NodeIndex node) { return AwaitMember(node, &DemoMembers::Times::joined); }
  /// The latest Joined of all nodes. Killed nodes count, too.
  TimePoint LastJoined();
  /// Waits until DemoMembers has seen the node's member key deleted, and returns that time.
  TimePoint Gone(NodeIndex node) { return AwaitMember(node, &DemoMembers::Times::gone); }

  /// Returns when the last change after `before` was seen. If there was none, returns `otherwise`.
  TimePoint LastChange(const Start& before, TimePoint otherwise) const;
  /// Returns in words the time from Joined(newcomer) to the last change after `before`.
  std::string Took(const Start& before, NodeIndex newcomer);
  /// Prints the table of nodes that the newest running node sends.
  void ShowNodes();

  // ---- words ----

  Duration Bound() const { return options_.ttl + kGrace; }
  std::string Ttl() const { return std::to_string(options_.ttl.count()) + " s"; }

  /// Returns how many shards each node leads, such as "342/341/341". Killed and stopped nodes are
  /// left out. If there are leaderless shards, also says how many.
  std::string CountsWord() const;
  static std::string WriteWord(WriteState state);
  /// Returns the numbers with a blank before each: " 12 345".
  static std::string Pids(const std::vector<pid_t>& pids);
  /// Returns the number (from 0) of the oldest sweep that DemoBoard::Head::notes has after `sweeps`
  /// sweeps.
  static std::uint64_t OldestNote(std::uint64_t sweeps);
  std::string LogsAdvice() const;
  std::string SlowAdvice() const;

  const DemoOptions options_;
  DemoReport report_;
  std::unique_ptr<DemoCluster> cluster_;
  NodeIndex drained_ = kNobody;  // the node that was drained

 private:
  TimePoint AwaitMember(NodeIndex node, std::optional<TimePoint> DemoMembers::Times::*time);

  // The observer's at the last ClaimSafe.
  std::uint64_t violations_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace baton::app
