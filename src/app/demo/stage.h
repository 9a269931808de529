// DemoStage: the steps that the parts of a demo are made of: start and stop nodes, wait, look,
// claim.
//
// One thread. Every wait is bounded, by kPatience if nothing else is said. Functions throw
// DemoAbort if the demo can't go on: after Ctrl-C, if a node ended by itself, if etcd or a node
// can't be asked, or if a wait is over and the function has no other way to say so. It is caught
// once, in demo.cc.
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
  // The bound of waits that no lease bounds. It is long, because a busy machine is slow, not wrong.
  static constexpr std::chrono::seconds kPatience{60};
  // Beyond the TTL: etcd's own expiry comes in steps of half a second, then claims and delivery.
  static constexpr std::chrono::seconds kGrace{3};
  static constexpr std::chrono::milliseconds kPoll{2};
  static constexpr std::chrono::seconds kAskedAfterWake{1};

  /// The moment at which a part of the demo begins.
  struct Start {
    std::size_t changes = 0;
    TimePoint at{};
  };

  explicit DemoStage(const DemoOptions& options) : options_(options), report_(options.color) {}

  // ---- claims ----

  /// If a claim does not say what to try next: a look at the logs.
  void Claim(DemoClaim claim);
  /// Claims that a node's shards, and no others, were taken over, and shows by which nodes and
  /// when.
  void ClaimTakenOver(const Start& before, NodeIndex gone, std::uint32_t led, bool done);
  /// Claims that `fewest` shards have new leaders since `before`, each one new leader, and all as
  /// `expected`.
  void ClaimFewest(const Start& before, std::uint32_t fewest,
                   const std::function<bool(const SeenChange&)>& expected);
  /// ClaimGaps for the time without an activated leader.
  void ClaimPlannedGaps(const Start& before);
  /// Claims that no change since `before` has a longer gap than the bound: Bound(), if none is
  /// given. Claims nothing if there was no change.
  void ClaimGaps(const std::string& claim, const Start& before,
                 const std::function<Duration(const SeenChange&)>& gap) {
    ClaimGaps(claim, before, gap, Bound());
  }
  void ClaimGaps(const std::string& claim, const Start& before,
                 const std::function<Duration(const SeenChange&)>& gap, Duration bound);
  /// Claims that it took no longer than Bound().
  void ClaimInTime(const std::string& claim, Duration took);

  /// Claims what must hold in every part: one leader at most, terms that grow, the same in etcd.
  void ClaimSafe();
  void ClaimRecorded();
  /// Claims that in the second after `woken` the node never said that it leads with a term up to
  /// DemoBoard::Head::old_term.
  void ClaimSilent(NodeIndex node, std::uint64_t sweeps_before, TimePoint woken);

  // ---- doing ----

  void NoteWaiting() { report_.Note("waiting until its lease of " + Ttl() + " runs out"); }

  /// Waits until the node serves.
  NodeIndex StartNode(std::uint32_t expect_nodes);

  /// Asks the application on that node to write. It decides at once. REQUIRES: no earlier write is
  /// under way there (WriteEnded, or kIdle).
  void AskWrite(NodeIndex node, ShardId shard, Duration work);
  static bool WriteEnded(WriteState state);
  /// Waits for the write's end. If that takes too long, the state is not WriteEnded.
  WriteState WriteNow(NodeIndex node, ShardId shard);

  /// Stops the process between the decision on a write and its sending. Throws after five attempts
  /// that came too late.
  void StopAfterDecision(NodeIndex node, ShardId shard);

  // ---- seeing ----

  DemoObserver& observer() const { return cluster_->observer(); }

  Start Begin() const { return {observer().ChangeCount(), BootClock::now()}; }

  void Nap(std::chrono::milliseconds duration) const;
  /// False: the condition did not hold within `patience`.
  bool WaitUntil(std::chrono::milliseconds patience, const std::function<bool()>& condition);
  bool WaitLed(std::chrono::milliseconds patience);
  bool WaitBalanced(std::chrono::milliseconds patience);

  /// How many shards balance gives to a new node. If the shards can't be divided evenly, nodes that
  /// lead already keep the rest. REQUIRES: a node takes part.
  std::uint32_t ShareOfNewcomer() const;
  bool AllLed() const { return observer().Leaderless() == 0; }
  std::uint32_t Share(NodeIndex node) const { return observer().Counts()[node]; }

  /// Whether the node runs and is neither stopped nor drained.
  bool TakesPart(NodeIndex node) const;

  /// Whether the shares of the nodes that take part differ by at most one.
  bool Balanced() const;
  std::int64_t HighestTerm() const;
  /// Throws if the node leads nothing.
  ShardId AnyShardOf(NodeIndex node) const;
  /// Waits until the demo's own watch on etcd saw the member's key created; returns when that was.
  /// Throws if that takes too long.
  TimePoint Joined(NodeIndex node) { return AwaitMember(node, &DemoMembers::Times::joined); }
  TimePoint LastJoined();
  /// The same for the key's deletion.
  TimePoint Gone(NodeIndex node) { return AwaitMember(node, &DemoMembers::Times::gone); }

  /// When the last change since `before` was seen, or `otherwise` if there was none.
  TimePoint LastChange(const Start& before, TimePoint otherwise) const;
  std::string Took(const Start& before, NodeIndex newcomer);
  void ShowNodes();

  // ---- words ----

  Duration Bound() const { return options_.ttl + kGrace; }
  std::string Ttl() const { return std::to_string(options_.ttl.count()) + " s"; }

  /// The shares of the running nodes in their order: "342/341/341".
  std::string CountsWord() const;
  static std::string WriteWord(WriteState state);
  static std::string Pids(const std::vector<pid_t>& pids);
  static std::uint64_t OldestNote(std::uint64_t sweeps);
  std::string LogsAdvice() const;
  std::string SlowAdvice() const;

  const DemoOptions options_;
  DemoReport report_;
  std::unique_ptr<DemoCluster> cluster_;
  NodeIndex drained_ = kNobody;

 private:
  TimePoint AwaitMember(NodeIndex node, std::optional<TimePoint> DemoMembers::Times::*time);

  std::size_t violations_ = 0;  // already reported
  std::uint64_t samples_ = 0;   // at the last report
};

}  // namespace baton::app
