// DemoStage: the steps of which a demo consists. They start and stop nodes, wait, look, and check
// statements. DemoStage is the base class of Demo (demo.cc).
//
// One thread. Every wait has a bound: kPatience, unless the function names another. Functions throw
// DemoAbort if the demo can't go on. Reasons are Ctrl-C, a node that ended or halted by itself, and
// etcd or a node that gives no answer. If a wait reaches its bound, the function says so by its
// result; a function that has no result for this throws DemoAbort. demo.cc catches the exception.
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
  // The bound of waits that don't depend on a lease. This bound is long, because a busy machine is
  // slow.
  static constexpr std::chrono::seconds kPatience{60};
  // Shards must be led again within the TTL plus this time. Reason: etcd ends leases in steps of
  // half a second, and then nodes claim the shards.
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
  /// Prints the table of nodes. States that after `before`, the `led` shards of the node `gone`
  /// have got new leaders, that no other shard moved, and that the group is balanced. `done`:
  /// whether the wait for this ended in time.
  void ClaimTakenOver(const Start& before, NodeIndex gone, std::uint32_t led, bool done);
  /// States that exactly `fewest` shards have got a new leader after `before`, each of them only
  /// once, and that `expected` is true for each of these changes.
  void ClaimFewest(const Start& before, std::uint32_t fewest,
                   const std::function<bool(const SeenChange&)>& expected);
  /// Calls ClaimGaps for SeenChange::gap, the time without an activated leader. Also prints how
  /// exact the observer's times are.
  void ClaimPlannedGaps(const Start& before);
  /// States that `gap` is at most `bound` (by default Bound()) for every change after `before`. If
  /// there was no change, prints nothing; if all gaps are negative, prints a note.
  void ClaimGaps(const std::string& claim, const Start& before,
                 const std::function<Duration(const SeenChange&)>& gap) {
    ClaimGaps(claim, before, gap, Bound());
  }
  void ClaimGaps(const std::string& claim, const Start& before,
                 const std::function<Duration(const SeenChange&)>& gap, Duration bound);
  /// States that `took` is at most Bound().
  void ClaimInTime(const std::string& claim, Duration took);

  /// States what must be true in every part: the observer saw no new violation. Then calls
  /// ClaimRecorded.
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
  /// write is under way on the node (WriteState is kIdle, or WriteEnded is true).
  void AskWrite(NodeIndex node, ShardId shard, Duration work);
  /// Whether the state of a write is final.
  static bool WriteEnded(WriteState state);
  /// Asks for a write and waits for its end. Returns the last state. If the wait reached its bound,
  /// WriteEnded is false for this state. REQUIRES: as AskWrite.
  WriteState WriteNow(NodeIndex node, ShardId shard);

  /// Asks for a write, and stops the node's process after the application has decided on the write
  /// and before it sends the write. Sets DemoBoard::Head::old_term to HighestTerm. If the stop
  /// comes too late, wakes the node and tries again; throws after five attempts. REQUIRES: as
  /// AskWrite.
  void StopAfterDecision(NodeIndex node, ShardId shard);

  // ---- seeing ----

  DemoObserver& observer() const { return cluster_->observer(); }

  Start Begin() const { return {observer().ChangeCount(), BootClock::now()}; }

  /// Sleeps. Throws if Interrupt happens meanwhile, or has happened before.
  void Nap(std::chrono::milliseconds duration) const;
  /// Checks the condition at once, and then every 2 ms. Returns false if it did not become true
  /// within `patience`. Throws if a node ended or halted by itself meanwhile.
  bool WaitUntil(std::chrono::milliseconds patience, const std::function<bool()>& condition);
  /// Waits until every shard is led.
  bool WaitLed(std::chrono::milliseconds patience);
  /// Waits until every shard is led and the group is Balanced.
  bool WaitBalanced(std::chrono::milliseconds patience);

  /// How many shards a new node gets: the number of all shards, divided by the number of nodes that
  /// take part (with the new node), rounded down. REQUIRES (checked): some node takes part.
  std::uint32_t ShareOfNewcomer() const;
  bool AllLed() const { return observer().Leaderless() == 0; }
  /// How many shards the node leads.
  std::uint32_t Share(NodeIndex node) const { return observer().Counts()[node]; }

  /// Whether the node runs and is neither stopped nor drained.
  bool TakesPart(NodeIndex node) const;

  /// Whether the shares of the nodes that take part differ by at most one.
  bool Balanced() const;
  /// The highest term of all shards that are led now; 0: no shard is led.
  std::int64_t HighestTerm() const;
  /// A shard that the node leads. Throws if the node leads nothing.
  ShardId AnyShardOf(NodeIndex node) const;
  /// Waits until DemoMembers has seen the node's member key created, and returns that time.
  TimePoint Joined(NodeIndex node) { return AwaitMember(node, &DemoMembers::Times::joined); }
  /// The latest Joined of all nodes. Killed nodes count, too.
  TimePoint LastJoined();
  /// Waits until DemoMembers has seen the node's member key deleted, and returns that time.
  TimePoint Gone(NodeIndex node) { return AwaitMember(node, &DemoMembers::Times::gone); }

  /// When the last change after `before` was seen; `otherwise` if there was none.
  TimePoint LastChange(const Start& before, TimePoint otherwise) const;
  /// The time from Joined(newcomer) to the last change after `before`, in words.
  std::string Took(const Start& before, NodeIndex newcomer);
  /// Prints the table of nodes, as the newest running node has it.
  void ShowNodes();

  // ---- words ----

  Duration Bound() const { return options_.ttl + kGrace; }
  std::string Ttl() const { return std::to_string(options_.ttl.count()) + " s"; }

  /// How many shards each node leads that is neither killed nor stopped, such as "342/341/341". If
  /// there are leaderless shards, also says how many.
  std::string CountsWord() const;
  static std::string WriteWord(WriteState state);
  /// " 12 345": with a blank before each.
  static std::string Pids(const std::vector<pid_t>& pids);
  /// The number (from 0) of the oldest sweep that DemoBoard::Head::notes has after `sweeps` sweeps.
  static std::uint64_t OldestNote(std::uint64_t sweeps);
  std::string LogsAdvice() const;
  std::string SlowAdvice() const;

  const DemoOptions options_;
  DemoReport report_;
  std::unique_ptr<DemoCluster> cluster_;
  NodeIndex drained_ = kNobody;  // the node that was drained

 private:
  TimePoint AwaitMember(NodeIndex node, std::optional<TimePoint> DemoMembers::Times::*time);

  std::size_t violations_ = 0;  // how many were printed
  std::uint64_t samples_ = 0;   // the observer's at the last ClaimSafe
};

}  // namespace baton::app
