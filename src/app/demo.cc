#include "app/demo.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/ctl.h"
#include "app/ctl_client.h"
#include "app/ctl_interrupt.h"
#include "app/ctl_output.h"
#include "app/ctl_tables.h"
#include "app/demo_board.h"
#include "app/demo_cluster.h"
#include "app/demo_node.h"
#include "app/demo_observer.h"
#include "app/demo_report.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kPoll{2};
// Beyond the TTL: etcd's own expiry comes in steps of half a second, then claims and their
// delivery.
constexpr seconds kGrace{3};
// For what has no lease to wait for; a busy machine is slow, not wrong.
constexpr seconds kPatience{60};
constexpr std::chrono::microseconds kCloseLook{250};
constexpr milliseconds kWorkBeforeWrite{400};
constexpr int kStopAttempts = 5;
constexpr seconds kAskedAfterWake{1};

/// Who leads what before a part of the demo, to compare with.
struct Start {
  std::vector<SeenShard> shards;
  std::size_t changes = 0;
  TimePoint at{};
};

/// Why the demo can't go on.
struct Abort {
  Error error;
};

class Demo {
 public:
  explicit Demo(const DemoOptions& options) : options_(options), report_(options.color) {}

  int Run() {
    try {
      Launch();
      Elect();
      Join();
      KillOne();
      StopOne();
      DrainOne();
    } catch (const Abort& abort) {
      return GiveUp(abort.error);
    }
    return Finish();
  }

 private:
  // ---- the parts ----

  void Launch() {
    report_.Line("Baton demo: " + std::to_string(options_.nodes) + " nodes, " +
                 Grouped(options_.shards) + " shards, leases of " + Ttl() +
                 ", on a private etcd that ends with the demo.");
    auto cluster = DemoCluster::Start(options_);
    if (!cluster) throw Abort{cluster.error()};
    cluster_ = std::move(cluster).value();
    report_.Note("folder " + cluster_->folder() + ", etcd " + cluster_->etcd_endpoint());
  }

  void Elect() {
    report_.Part("Elect and balance: " + std::to_string(options_.nodes) + " nodes start");
    LookClosely();
    for (std::uint32_t i = 0; i < options_.nodes; ++i) StartNode(options_.nodes);
    const Start before = Begin();
    const bool led = WaitBalanced(kPatience);
    ShowNodes();
    report_.Claim({.holds = led,
                   .claim = "every shard has a leader, balanced",
                   .measured = CountsWord(),
                   .next = LogsAdvice()});
    const TimePoint joined = LastJoined();
    ClaimInTime("all led and balanced, from the last node's joining",
                LastChange(before, joined) - joined);
    report_.Note("no settle time in it: the nodes were told to expect " +
                 std::to_string(options_.nodes));
    ClaimSafe(before);
  }

  void Join() {
    report_.Part("A node joins");
    const Start before = Begin();
    const NodeIndex newcomer = StartNode(1);
    const bool done = WaitBalanced(kPatience);
    ShowNodes();
    report_.Claim({.holds = done,
                   .claim = "balanced again",
                   .measured = CountsWord() + ", " + Took(before, newcomer),
                   .next = LogsAdvice()});
    ClaimFewest(before, Share(newcomer), [=](const SeenChange& change) {
      return change.to == newcomer && change.from != newcomer && change.from != kNobody;
    });
    ClaimPlannedGaps(before);
    ClaimSafe(before);
  }

  void KillOne() {
    const NodeIndex victim = 1;
    report_.Part("A node dies: kill -9 " + cluster_->name(victim));
    const Start before = Begin();
    const std::uint32_t led = Share(victim);
    const TimePoint killed = BootClock::now();
    cluster_->Kill(victim);
    const bool done = WaitLed(options_.ttl + kPatience);
    ClaimTakenOver(before, victim, led, done);
    ClaimGaps("leaderless since the kill", before,
              [](const SeenChange& change) { return change.gap(); });
    const auto gone = cluster_->members().Gone(cluster_->name(victim));
    if (gone) {
      ClaimGaps("leaderless since the member key's deletion, as watched", before,
                [&](const SeenChange& change) { return change.led - *gone; });
      report_.Note("etcd deleted the key " + TimeWord(*gone - killed) + " after the kill");
    }
    ClaimSafe(before);
  }

  void StopOne() {
    const NodeIndex sleeper = 2;
    report_.Part("A node is stopped past its lease and wakes: kill -STOP, -CONT " +
                 cluster_->name(sleeper));
    const Start before = Begin();
    const std::uint32_t led = Share(sleeper);
    const ShardId shard = AnyShardOf(sleeper);
    const WriteState control = WriteNow(sleeper, shard);
    report_.Claim({.holds = control == WriteState::kAccepted,
                   .claim = "while it leads, a write guarded by its leadership goes through",
                   .measured = WriteWord(control),
                   .next = LogsAdvice()});
    StopAfterDecision(sleeper, shard);
    const TimePoint stopped = BootClock::now();
    const bool done = WaitLed(options_.ttl + kPatience);
    while (BootClock::now() < stopped + options_.ttl + milliseconds(500)) Nap(kPoll);
    ClaimTakenOver(before, sleeper, led, done);
    ClaimGaps("leaderless since the stop", before,
              [](const SeenChange& change) { return change.gap(); });
    Wake(sleeper);
    ClaimSafe(before);
    TakeBack(sleeper);
  }

  void Wake(NodeIndex sleeper) {
    auto& board = cluster_->board(sleeper);
    board.share.store(1);
    const std::uint64_t sweeps = board.sweeps.load();
    const TimePoint woken = BootClock::now();
    cluster_->Wake(sleeper);
    WaitUntil(kAskedAfterWake + kPatience, [&] {
      return WriteEnded(board.write_state.load()) && BootClock::now() >= woken + kAskedAfterWake;
    });
    board.share.store(0);
    ClaimSilent(sleeper, sweeps, woken);
    const WriteState fate = board.write_state.load();
    report_.Claim({.holds = fate == WriteState::kRefused,
                   .claim = "its write, decided on before the stop, went out by itself",
                   .measured = WriteWord(fate) + ", guarded by term " +
                               std::to_string(board.write_term.load()),
                   .next = LogsAdvice()});
  }

  /// Balance gives the woken node its share back.
  void TakeBack(NodeIndex sleeper) {
    const Start before = Begin();
    const bool done = WaitBalanced(kPatience);
    report_.Claim({.holds = done,
                   .claim = "with a new session it takes part again, balanced",
                   .measured = CountsWord(),
                   .next = LogsAdvice()});
    ClaimFewest(before, Share(sleeper),
                [=](const SeenChange& change) { return change.to == sleeper; });
    ClaimPlannedGaps(before);
    ClaimSafe(before);
  }

  void DrainOne() {
    const NodeIndex leaving = 0;
    const NodeId& name = cluster_->name(leaving);
    report_.Part("A node is drained: batonctl nodes drain " + name);
    const Start before = Begin();
    const std::uint32_t led = Share(leaving);
    AdminClient client(cluster_->endpoint(leaving));
    runtime::PolicyRequest drain;
    drain.verb = runtime::PolicyRequest::Verb::kDrain;
    drain.node = name;
    drain.actor = ActorName();
    const Status asked = client.SetPolicy(drain, BootClock::now() + kPatience);
    if (!asked) throw Abort{asked.error()};
    const bool done = WaitUntil(kPatience, [&] { return Share(leaving) == 0 && AllLed(); });
    ShowNodes();
    report_.Claim({.holds = done && Share(leaving) == 0,
                   .claim = name + " leads nothing, the others are balanced",
                   .measured = CountsWord() + ", " +
                               TimeWord(LastChange(before, before.at) - before.at) +
                               " from the word",
                   .next = LogsAdvice()});
    ClaimFewest(before, led, [=](const SeenChange& change) { return change.from == leaving; });
    ClaimPlannedGaps(before);
    ClaimSafe(before);
  }

  int Finish() {
    if (report_.failed() > 0) {
      cluster_->KeepFolder();
      report_.Line("");
      report_.Line("Logs of etcd and of each node stay in " + cluster_->folder());
    }
    report_.End();
    if (options_.keep) LeaveRunning();
    return static_cast<int>(report_.failed() == 0 ? ExitCode::kDone : ExitCode::kFailed);
  }

  int GiveUp(const Error& error) {
    if (Interrupt::Happened()) return static_cast<int>(Fail({ErrorCode::kInternal, ""}));
    if (cluster_) cluster_->KeepFolder();
    report_.Claim({.holds = false,
                   .claim = "the demo can go on",
                   .measured = error.message,
                   .next = error.code == ErrorCode::kNotFound
                               ? "apt-get install etcd-server, or put etcd on PATH"
                               : LogsAdvice()});
    report_.End();
    return static_cast<int>(ExitCode::kFailed);
  }

  void LeaveRunning() {
    cluster_->LeaveRunning();
    report_.Line("");
    report_.Line("The cluster stays up. Talk to it:");
    for (NodeIndex node = 0; node < cluster_->size(); ++node) {
      if (!cluster_->running(node)) continue;
      report_.Line("  BATON_ENDPOINT=" + cluster_->endpoint(node) + " batonctl status    # " +
                   cluster_->name(node));
    }
    report_.Line("  BATON_ENDPOINT=" + cluster_->endpoint(0) + " batonctl nodes undrain " +
                 cluster_->name(0));
    report_.Line("  ETCDCTL_API=3 etcdctl --endpoints " + cluster_->etcd_endpoint() +
                 " get --prefix --keys-only /baton");
    report_.Line("Stop it, nodes first, then etcd and its folder:");
    report_.Line("  kill" + Pids(cluster_->node_pids()) + " && sleep 3; kill" +
                 Pids(cluster_->etcd_pids()) + "; rm -r " + cluster_->folder());
  }

  // ---- claims ----

  /// A node's shards were taken over: by whom, when, and nothing else.
  void ClaimTakenOver(const Start& before, NodeIndex gone, std::uint32_t led, bool done) {
    ShowNodes();
    report_.Claim({.holds = done && Balanced(),
                   .claim = "its shards have new leaders, balanced on arrival",
                   .measured = CountsWord(),
                   .next = LogsAdvice()});
    ClaimFewest(before, led, [=](const SeenChange& change) { return change.from == gone; });
  }

  void ClaimFewest(const Start& before, std::uint32_t fewest,
                   const std::function<bool(const SeenChange&)>& expected) {
    const auto changes = observer().Changes(before.changes);
    std::set<ShardId> moved;
    std::size_t strays = 0;
    for (const SeenChange& change : changes) {
      const bool again = !moved.insert(change.shard).second;
      if (again || !expected(change)) ++strays;
    }
    report_.Claim({.holds = moved.size() == fewest && strays == 0,
                   .claim = "the fewest moves (" + Grouped(fewest) + "), and nothing else moved",
                   .measured = Grouped(moved.size()) + " shards moved, " + Grouped(strays) +
                               " that need not have",
                   .next = LogsAdvice()});
  }

  void ClaimPlannedGaps(const Start& before) {
    ClaimGaps("leaderless during a planned move", before,
              [](const SeenChange& change) { return change.gap(); });
  }

  void ClaimGaps(const std::string& claim, const Start& before,
                 const std::function<Duration(const SeenChange&)>& gap) {
    std::vector<Duration> gaps;
    for (const SeenChange& change : observer().Changes(before.changes)) {
      gaps.push_back(std::max(Duration::zero(), gap(change)));
    }
    if (gaps.empty()) return;
    const Percentiles found = PercentilesOf(gaps);
    report_.Claim({.holds = found.max <= Bound(),
                   .claim = claim,
                   .measured = "p50 " + TimeWord(found.p50) + ", p99 " + TimeWord(found.p99) +
                               ", max " + TimeWord(found.max),
                   .next = SlowAdvice()});
  }

  void ClaimInTime(const std::string& claim, Duration took) {
    report_.Claim({.holds = took <= Bound(),
                   .claim = claim,
                   .measured = TimeWord(took),
                   .next = SlowAdvice()});
  }

  /// What must hold in every part: one leader at most, terms that grow, and etcd says the same.
  void ClaimSafe(const Start&) {
    const auto violations = observer().Violations();
    const std::uint64_t samples = observer().Samples();
    report_.Claim({.holds = violations.size() == violations_,
                   .claim = "never two leaders of a shard, terms only grew",
                   .measured = Grouped(violations.size() - violations_) + " violations in " +
                               Grouped(samples - samples_) + " samples",
                   .next = LogsAdvice()});
    for (std::size_t i = violations_; i < violations.size(); ++i) report_.Note(violations[i]);
    violations_ = violations.size();
    samples_ = samples;
    ClaimRecorded();
  }

  void ClaimRecorded() {
    const auto records = cluster_->ReadRecords();
    if (!records) throw Abort{records.error()};
    const auto shards = observer().Shards();
    std::size_t differ = 0;
    for (std::uint32_t i = 0; i < shards.size(); ++i) {
      const auto found = records.value().find(ShardId{i});
      const bool same = found != records.value().end() && shards[i].leader != kNobody &&
                        found->second.leader == cluster_->name(shards[i].leader) &&
                        found->second.term() == shards[i].term;
      if (!same) ++differ;
    }
    report_.Claim({.holds = differ == 0,
                   .claim = "etcd's records name these leaders and terms",
                   .measured = Grouped(differ) + " of " + Grouped(shards.size()) + " differ",
                   .next = LogsAdvice()});
  }

  void ClaimSilent(NodeIndex node, std::uint64_t sweeps_before, TimePoint woken) {
    const auto& board = cluster_->board(node);
    const std::uint64_t sweeps = board.sweeps.load();
    std::uint64_t asked = 0;
    std::uint64_t led = 0;
    Duration first{0};
    Duration longest{0};
    TimePoint last = woken;
    for (std::uint64_t i = std::max(sweeps_before, OldestNote(sweeps)); i < sweeps; ++i) {
      const SweepNote& note = board.notes[i % DemoBoard::kNotes];
      const TimePoint begun{Duration(note.begun)};
      if (begun < woken || begun > woken + kAskedAfterWake) continue;
      if (asked++ == 0)
        first = begun - woken;
      else
        longest = std::max(longest, begun - last);
      last = begun;
      led += note.old;
    }
    report_.Claim({.holds = asked > 0 && led == 0,
                   .claim = "woken, it says from its first answer on that it does not lead",
                   .measured = "asked " + Grouped(asked) + " x in 1 s, first after " +
                               TimeWord(first) + ": " + Grouped(led) + " x yes",
                   .next = LogsAdvice()});
    report_.Note("longest pause between two askings " + TimeWord(longest));
  }

  // ---- doing ----

  NodeIndex StartNode(std::uint32_t expect_nodes) {
    auto node = cluster_->StartNode(expect_nodes);
    if (!node) throw Abort{node.error()};
    auto& board = cluster_->board(node.value());
    board.pause.store(std::chrono::nanoseconds(kCloseLook).count());
    if (!WaitUntil(kPatience, [&] { return board.state.load() == BoardState::kServing; })) {
      throw Abort{{ErrorCode::kTimedOut, cluster_->name(node.value()) + " did not start in time"}};
    }
    return node.value();
  }

  /// The application on that node is asked to write; it takes its decision at once.
  void AskWrite(NodeIndex node, ShardId shard, Duration work) {
    auto& board = cluster_->board(node);
    board.write_shard.store(shard.value);
    board.write_work.store(work.count());
    board.write_state.store(WriteState::kAsked);
  }

  static bool WriteEnded(WriteState state) {
    return state == WriteState::kNotLeader || state > WriteState::kSent;
  }

  WriteState WriteNow(NodeIndex node, ShardId shard) {
    AskWrite(node, shard, Duration::zero());
    auto& board = cluster_->board(node);
    WaitUntil(kPatience, [&] { return WriteEnded(board.write_state.load()); });
    return board.write_state.load();
  }

  /// Stops the process between the decision on a write and its sending.
  void StopAfterDecision(NodeIndex node, ShardId shard) {
    auto& board = cluster_->board(node);
    for (int attempt = 0; attempt < kStopAttempts; ++attempt) {
      AskWrite(node, shard, kWorkBeforeWrite);
      WaitUntil(kPatience, [&] { return board.write_state.load() >= WriteState::kNotLeader; });
      board.old_term.store(HighestTerm());
      cluster_->Stop(node);
      if (board.write_state.load() == WriteState::kDecided) return;
      // Too busy a machine: the write went out before the stop. Once more.
      cluster_->Wake(node);
      WaitUntil(kPatience, [&] { return WriteEnded(board.write_state.load()) && AllLed(); });
    }
    throw Abort{{ErrorCode::kTimedOut,
                 "could not stop " + cluster_->name(node) + " between a decision and its write"}};
  }

  void LookClosely() {
    for (NodeIndex node = 0; node < cluster_->size(); ++node) {
      cluster_->board(node).pause.store(std::chrono::nanoseconds(kCloseLook).count());
    }
  }

  // ---- seeing ----

  DemoObserver& observer() const { return cluster_->observer(); }

  Start Begin() const { return {observer().Shards(), observer().ChangeCount(), BootClock::now()}; }

  void Nap(milliseconds duration) const {
    if (!Interrupt::Sleep(duration)) throw Abort{{ErrorCode::kInternal, "interrupted"}};
  }

  bool WaitUntil(milliseconds patience, const std::function<bool()>& condition) {
    const TimePoint deadline = BootClock::now() + patience;
    while (!condition()) {
      if (BootClock::now() >= deadline) return false;
      if (const std::string trouble = cluster_->Trouble(); !trouble.empty()) {
        throw Abort{{ErrorCode::kFailedPrecondition, trouble}};
      }
      Nap(kPoll);
    }
    return true;
  }
  bool WaitLed(milliseconds patience) {
    return WaitUntil(patience, [&] { return AllLed(); });
  }
  bool WaitBalanced(milliseconds patience) {
    return WaitUntil(patience, [&] { return AllLed() && Balanced(); });
  }

  bool AllLed() const { return observer().Leaderless() == 0; }
  std::uint32_t Share(NodeIndex node) const { return observer().Counts()[node]; }

  /// The running nodes' counts differ by one at most.
  bool Balanced() const {
    std::uint32_t least = UINT32_MAX;
    std::uint32_t most = 0;
    const auto counts = observer().Counts();
    for (NodeIndex node = 0; node < counts.size(); ++node) {
      if (!cluster_->running(node) || cluster_->stopped(node)) continue;
      least = std::min(least, counts[node]);
      most = std::max(most, counts[node]);
    }
    return most <= least + 1;
  }

  std::int64_t HighestTerm() const {
    std::int64_t highest = 0;
    for (const SeenShard& shard : observer().Shards()) {
      highest = std::max(highest, shard.term.value);
    }
    return highest;
  }

  ShardId AnyShardOf(NodeIndex node) const {
    const auto shards = observer().Shards();
    const auto found = std::find_if(shards.begin(), shards.end(), [node](const SeenShard& shard) {
      return shard.leader == node;
    });
    if (found == shards.end()) {
      throw Abort{{ErrorCode::kInternal, cluster_->name(node) + " leads nothing"}};
    }
    return ShardId{static_cast<std::uint32_t>(found - shards.begin())};
  }

  TimePoint LastJoined() const {
    TimePoint last{};
    for (NodeIndex node = 0; node < cluster_->size(); ++node) {
      last = std::max(last, cluster_->members().Joined(cluster_->name(node)).value_or(last));
    }
    return last;
  }

  /// When the last change since `before` was seen; `otherwise` where there was none.
  TimePoint LastChange(const Start& before, TimePoint otherwise) const {
    const auto changes = observer().Changes(before.changes);
    return changes.empty() ? otherwise : changes.back().led;
  }

  std::string Took(const Start& before, NodeIndex newcomer) const {
    const TimePoint joined =
        cluster_->members().Joined(cluster_->name(newcomer)).value_or(before.at);
    return TimeWord(LastChange(before, joined) - joined) + " from its joining";
  }

  void ShowNodes() {
    for (NodeIndex node = cluster_->size(); node-- > 0;) {
      if (!cluster_->running(node) || cluster_->stopped(node)) continue;
      AdminClient client(cluster_->endpoint(node));
      const auto picture = client.GetStatus(false, BootClock::now() + kPatience);
      if (!picture) throw Abort{picture.error()};
      return report_.Show(NodesTable(picture.value().status, false));
    }
  }

  // ---- words ----

  Duration Bound() const { return options_.ttl + kGrace; }
  std::string Ttl() const { return std::to_string(options_.ttl.count()) + " s"; }

  /// "342/341/341": of the nodes that run, in their order.
  std::string CountsWord() const {
    const auto counts = observer().Counts();
    std::string words;
    for (NodeIndex node = 0; node < counts.size(); ++node) {
      if (!cluster_->running(node) || cluster_->stopped(node)) continue;
      if (!words.empty()) words += "/";
      words += std::to_string(counts[node]);
    }
    const std::uint32_t leaderless = observer().Leaderless();
    return words + (leaderless == 0 ? "" : ", " + Grouped(leaderless) + " leaderless");
  }

  static std::string WriteWord(WriteState state) {
    switch (state) {
      case WriteState::kAccepted:
        return "accepted";
      case WriteState::kRefused:
        return "refused";
      case WriteState::kNotLeader:
        return "not decided: it said that it does not lead";
      default:
        return "no definite answer";
    }
  }

  static std::string Pids(const std::vector<pid_t>& pids) {
    return std::accumulate(
        pids.begin(), pids.end(), std::string(),
        [](const std::string& words, pid_t pid) { return words + " " + std::to_string(pid); });
  }

  static std::uint64_t OldestNote(std::uint64_t sweeps) {
    return sweeps > DemoBoard::kNotes ? sweeps - DemoBoard::kNotes : 0;
  }

  std::string LogsAdvice() const {
    return cluster_ ? "look at the logs in " + cluster_->folder() : "run it again";
  }
  std::string SlowAdvice() const {
    return "run it on a less busy machine, or with a longer --ttl; above " + TimeWord(Bound()) +
           " (TTL + 3 s) counts as failed";
  }

  const DemoOptions options_;
  DemoReport report_;
  std::unique_ptr<DemoCluster> cluster_;
  std::size_t violations_ = 0;  // reported already
  std::uint64_t samples_ = 0;
};

}  // namespace

int RunDemo(DemoOptions options) { return Demo(options).Run(); }

}  // namespace baton::app
