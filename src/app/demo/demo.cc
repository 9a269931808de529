#include "app/demo/demo.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/ctl/client.h"
#include "app/ctl/ctl.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/output.h"
#include "app/demo/node.h"
#include "app/demo/security.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;

// Commits this slow explain slow results, whatever Baton does.
constexpr milliseconds kSlowSync{500};

class Demo : public DemoSecurity {
 public:
  explicit Demo(const DemoOptions& options) : DemoSecurity(options) {}

  int Run() {
    try {
      Launch();
      Elect();
      Join();
      KillTwo();
      StopOne();
      DrainOne();
      if (options_.secure) ReplaceCertificates();
    } catch (const DemoAbort& abort) {
      return GiveUp(abort.error);
    }
    return Finish();
  }

 private:
  // ---- the parts ----

  void Launch() {
    report_.Line(
        fmt::format("Baton demo: {} nodes, {} shards, leases of {}, on a private etcd that {}.",
                    options_.nodes, Grouped(options_.shards), Ttl(),
                    options_.keep ? "runs on afterwards" : "ends with the demo"));
    auto cluster = DemoCluster::Start(options_);
    if (!cluster) throw DemoAbort{cluster.error()};
    cluster_ = std::move(cluster).value();
    report_.Note(fmt::format("folder {}, etcd {}", cluster_->folder(), cluster_->etcd_endpoint()));
  }

  void Elect() {
    report_.Part(fmt::format("Elect and balance: {} nodes start", options_.nodes));
    for (std::uint32_t i = 0; i < options_.nodes; ++i) StartNode(options_.nodes);
    const Start before = Begin();
    const bool led = WaitBalanced(kPatience);
    ShowNodes();
    Claim({.holds = led, .claim = "every shard has a leader, balanced", .measured = CountsWord()});
    const TimePoint joined = LastJoined();
    ClaimInTime("led and balanced since the last node joined", LastChange(before, joined) - joined);
    report_.Note("without the settle time: the nodes expect " + std::to_string(options_.nodes));
    ClaimSafe();
  }

  void Join() {
    report_.Part("A node joins");
    report_.Note(fmt::format("nodes wait {} before they balance; the default is 5 s",
                             TimeWord(kDemoRebalanceDelay)));
    const Start before = Begin();
    const NodeIndex newcomer = StartNode(1);
    const bool done = WaitBalanced(kPatience);
    ShowNodes();
    Claim({.holds = done,
           .claim = "balanced again",
           .measured = fmt::format("{}, {}", CountsWord(), Took(before, newcomer))});
    ClaimFewest(before, ShareOfNewcomer(), [=](const SeenChange& change) {
      return change.to == newcomer && change.from != newcomer && change.from != kNobody;
    });
    ClaimPlannedGaps(before);
    ClaimSafe();
  }

  /// The first one has a guard, and the node that takes its place has none.
  void KillTwo() {
    const NodeIndex victim = DemoCluster::kGuarded;
    report_.Part("A node with a guard dies, then one without: kill -9");
    KillGuarded(victim);
    const NodeIndex next = StartNode(1);
    WaitBalanced(kPatience);
    const Start before = Begin();
    const TimePoint killed = BootClock::now();
    cluster_->Kill(next);
    report_.Note(
        fmt::format("{} took its place and is killed; waiting until its lease of {} runs out",
                    cluster_->name(next), Ttl()));
    const bool done = WaitLed(options_.ttl + kPatience);
    Claim(
        {.holds = done && Balanced(), .claim = "others lead its shards", .measured = CountsWord()});
    ClaimGaps("leaderless since the kill, without a guard", before,
              [](const SeenChange& change) { return change.gap(); });
    report_.Note(
        fmt::format("etcd dropped the key {} after the kill", TimeWord(Gone(next) - killed)));
    ClaimSafe();
  }

  void KillGuarded(NodeIndex victim) {
    const Start before = Begin();
    const std::uint32_t led = Share(victim);
    cluster_->Kill(victim);
    const bool done = WaitLed(options_.ttl + kPatience);
    ClaimTakenOver(before, victim, led, done);
    // Its lease would have lasted for two thirds of its TTL at least.
    ClaimGaps(
        "leaderless since the kill, with a guard", before,
        [](const SeenChange& change) { return change.gap(); }, options_.ttl / 2);
  }

  void StopOne() {
    const NodeIndex sleeper = 2;
    report_.Part("A node is stopped past its lease and wakes: kill -STOP, -CONT " +
                 cluster_->name(sleeper));
    const Start before = Begin();
    const std::uint32_t led = Share(sleeper);
    const ShardId shard = AnyShardOf(sleeper);
    const WriteState control = WriteNow(sleeper, shard);
    Claim({.holds = control == WriteState::kAccepted,
           .claim = "a leader's guarded write goes through",
           .measured = WriteWord(control)});
    StopAfterDecision(sleeper, shard);
    NoteWaiting();
    const TimePoint stopped = BootClock::now();
    const bool done = WaitLed(options_.ttl + kPatience);
    while (BootClock::now() < stopped + options_.ttl + milliseconds(500)) Nap(kPoll);
    ClaimTakenOver(before, sleeper, led, done);
    ClaimGaps("leaderless since the stop", before,
              [](const SeenChange& change) { return change.gap(); });
    Wake(sleeper);
    ClaimSafe();
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
    Claim({.holds = fate == WriteState::kRefused,
           .claim = "its write, decided before the stop, goes out",
           .measured =
               fmt::format("{} (guarded by term {})", WriteWord(fate), board.write_term.load())});
  }

  /// Shows that balance gives the woken node its share back.
  void TakeBack(NodeIndex sleeper) {
    const Start before = Begin();
    const bool done = WaitBalanced(kPatience);
    Claim({.holds = done,
           .claim = "with a new session it gets its share again",
           .measured = CountsWord()});
    ClaimFewest(before, ShareOfNewcomer(),
                [=](const SeenChange& change) { return change.to == sleeper; });
    ClaimPlannedGaps(before);
    ClaimSafe();
  }

  void DrainOne() {
    const NodeIndex leaving = 0;
    const NodeId& name = cluster_->name(leaving);
    report_.Part("A node is drained: batonctl nodes drain " + name);
    const Start before = Begin();
    const std::uint32_t led = Share(leaving);
    AdminClient client(cluster_->endpoint(leaving), cluster_->tls());
    runtime::PolicyRequest drain;
    drain.verb = runtime::PolicyRequest::Verb::kDrain;
    drain.node = name;
    drain.actor = ActorName();
    const Status asked = client.Request(drain, BootClock::now() + kPatience);
    if (!asked) throw DemoAbort{asked.error()};
    const bool done = WaitUntil(kPatience, [&] { return Share(leaving) == 0 && AllLed(); });
    drained_ = leaving;
    ShowNodes();
    Claim({.holds = done && Balanced(),
           .claim = name + " leads nothing, the others are balanced",
           .measured = fmt::format("{}, {} from the command", CountsWord(),
                                   TimeWord(LastChange(before, before.at) - before.at))});
    ClaimFewest(before, led, [=](const SeenChange& change) { return change.from == leaving; });
    ClaimPlannedGaps(before);
    ClaimSafe();
  }

  int Finish() {
    if (report_.failed() > 0) {
      cluster_->KeepFolder();
      report_.Line("");
      const Duration sync = cluster_->slowest_sync();
      if (sync >= kSlowSync) {
        report_.Line(
            fmt::format("etcd's disk was slow: a sync of its log took more than {}, and every "
                        "commit waits for one; try a quieter disk",
                        TimeWord(sync)));
      }
      report_.Line("Logs of etcd and of each node stay in " + cluster_->folder());
    }
    report_.End();
    if (options_.keep) LeaveRunning();
    return static_cast<int>(report_.failed() == 0 ? ExitCode::kDone : ExitCode::kFailed);
  }

  int GiveUp(const Error& error) {
    if (Interrupt::Happened()) return static_cast<int>(Fail({ErrorCode::kInternal, ""}));
    if (cluster_) cluster_->KeepFolder();
    Claim({.holds = false,
           .claim = "the demo can go on",
           .measured = error.message,
           .next = error.code == ErrorCode::kNotFound
                       ? "apt-get install etcd-server etcd-client, or put etcd on PATH"
                       : ""});
    report_.End();
    return static_cast<int>(ExitCode::kFailed);
  }

  void LeaveRunning() {
    cluster_->LeaveRunning();
    report_.Line("");
    const std::string ctl = ProgramPath();  // fit for pasting
    report_.Line("The cluster runs on, without the nodes that were killed. Use it:");
    for (NodeIndex node = 0; node < cluster_->size(); ++node) {
      if (!cluster_->running(node)) continue;
      report_.Line(fmt::format("  BATON_ENDPOINT={} {} status    # {}", cluster_->endpoint(node),
                               ctl, cluster_->name(node)));
    }
    report_.Line(fmt::format("  BATON_ENDPOINT={} {} nodes undrain {}", cluster_->endpoint(0), ctl,
                             cluster_->name(0)));
    report_.Line(
        fmt::format("  ETCDCTL_API=3 etcdctl --endpoints {} get --prefix --keys-only /baton    # "
                    "apt-get install "
                    "etcd-client",
                    cluster_->etcd_endpoint()));
    report_.Line("Stop it, nodes first, then etcd and its folder:");
    report_.Line(fmt::format("  kill{} && sleep 3; kill{}; rm -r {}", Pids(cluster_->node_pids()),
                             Pids(cluster_->etcd_pids()), cluster_->folder()));
  }
};

}  // namespace

int RunDemo(DemoOptions options) { return Demo(options).Run(); }

}  // namespace baton::app
