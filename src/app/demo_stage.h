// DemoStage: what the parts of a demo are made of: starting and stopping, waiting, seeing,
// claiming.
//
// One thread. Whatever waits throws DemoAbort where the demo can't go on: Ctrl-C, or a node that
// ended by itself. It is caught once, where the demo gives up.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/demo.h"
#include "app/demo_board.h"
#include "app/demo_cluster.h"
#include "app/demo_observer.h"
#include "app/demo_report.h"

namespace baton::app {

struct DemoAbort {
  Error error;
};

class DemoStage {
 protected:
  // For what has no lease to wait for; a busy machine is slow, not wrong.
  static constexpr std::chrono::seconds kPatience{60};
  // Beyond the TTL: etcd's own expiry comes in steps of half a second, then claims and delivery.
  static constexpr std::chrono::seconds kGrace{3};
  static constexpr std::chrono::milliseconds kPoll{2};
  static constexpr std::chrono::seconds kAskedAfterWake{1};

  /// Where a part of the demo begins.
  struct Start {
    std::size_t changes = 0;
    TimePoint at{};
  };

  explicit DemoStage(const DemoOptions& options) : options_(options), report_(options.color) {}

  // ---- claims ----

  /// A node's shards were taken over: by whom, when, and nothing else.
  void ClaimTakenOver(const Start& before, NodeIndex gone, std::uint32_t led, bool done);
  void ClaimFewest(const Start& before, std::uint32_t fewest,
                   const std::function<bool(const SeenChange&)>& expected);
  void ClaimPlannedGaps(const Start& before);
  void ClaimGaps(const std::string& claim, const Start& before,
                 const std::function<Duration(const SeenChange&)>& gap);
  void ClaimInTime(const std::string& claim, Duration took);

  /// What must hold in every part: one leader at most, terms that grow, and etcd says the same.
  void ClaimSafe();
  void ClaimRecorded();
  void ClaimSilent(NodeIndex node, std::uint64_t sweeps_before, TimePoint woken);

  // ---- doing ----

  void NoteWaiting() { report_.Note("waiting until its lease of " + Ttl() + " runs out"); }

  NodeIndex StartNode(std::uint32_t expect_nodes);

  /// The application on that node is asked to write; it takes its decision at once.
  void AskWrite(NodeIndex node, ShardId shard, Duration work);
  static bool WriteEnded(WriteState state);
  WriteState WriteNow(NodeIndex node, ShardId shard);

  /// Stops the process between the decision on a write and its sending.
  void StopAfterDecision(NodeIndex node, ShardId shard);

  // ---- seeing ----

  DemoObserver& observer() const { return cluster_->observer(); }

  Start Begin() const { return {observer().ChangeCount(), BootClock::now()}; }

  void Nap(std::chrono::milliseconds duration) const;
  bool WaitUntil(std::chrono::milliseconds patience, const std::function<bool()>& condition);
  bool WaitLed(std::chrono::milliseconds patience);
  bool WaitBalanced(std::chrono::milliseconds patience);

  /// What balance gives to a node that comes with nothing: where the division leaves a rest, those
  /// that lead already keep it.
  std::uint32_t ShareOfNewcomer() const;
  bool AllLed() const { return observer().Leaderless() == 0; }
  std::uint32_t Share(NodeIndex node) const { return observer().Counts()[node]; }

  /// Runs, and is neither stopped nor drained.
  bool TakesPart(NodeIndex node) const;

  /// The counts of those that take part differ by one at most.
  bool Balanced() const;
  std::int64_t HighestTerm() const;
  ShardId AnyShardOf(NodeIndex node) const;
  /// When the demo's own watch on etcd heard of a member's key; waits for it.
  TimePoint Joined(NodeIndex node);
  TimePoint LastJoined();
  /// The same of its deletion.
  TimePoint Gone(NodeIndex node);

  /// When the last change since `before` was seen; `otherwise` where there was none.
  TimePoint LastChange(const Start& before, TimePoint otherwise) const;
  std::string Took(const Start& before, NodeIndex newcomer);
  void ShowNodes();

  // ---- words ----

  Duration Bound() const { return options_.ttl + kGrace; }
  std::string Ttl() const { return std::to_string(options_.ttl.count()) + " s"; }

  /// "342/341/341": of the nodes that run, in their order.
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
  std::size_t violations_ = 0;  // reported already
  std::uint64_t samples_ = 0;   // as of the last report
};

}  // namespace baton::app
