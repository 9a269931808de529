// Guards: a killed node's shards are led elsewhere long before its lease runs out, and nobody who
// lives is taken for dead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

// So long that nothing in these tests waits for a lease to end.
constexpr seconds kLongLease{120};
GroupOptions Guarded(const std::string& mode) {
  return {.shards = 12, .ttl = kLongLease, .flags = {"--guard", mode}};
}

/// The process's name and parent, as the kernel says; nullopt: there is no such process.
struct Entry {
  std::string name;
  pid_t parent = 0;
};
std::optional<Entry> Find(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (line.substr(close + 2, 1) == "Z") return std::nullopt;  // dead, and not reaped yet
  return Entry{.name = line.substr(open + 1, close - open - 1),
               .parent = static_cast<pid_t>(std::stol(line.substr(close + 4)))};
}

std::optional<pid_t> GuardOf(pid_t node) {
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = each.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    const auto found = Find(pid);
    if (found && found->parent == node && found->name == "baton-guard") return pid;
  }
  return std::nullopt;
}

pid_t AwaitGuard(const NodeProcess& node) {
  std::optional<pid_t> guard;
  const bool found =
      Eventually(kPatience, [&] { return (guard = GuardOf(node.pid())).has_value(); });
  if (!found) throw Unmet("a node with --guard own has no guard");
  return *guard;
}

/// Stops a process, and lets it go on again at the end of the test if nobody has.
class Stopped {
 public:
  explicit Stopped(pid_t pid) : pid_(pid) { kill(pid_, SIGSTOP); }
  ~Stopped() { GoOn(); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  void GoOn() { kill(pid_, SIGCONT); }

 private:
  const pid_t pid_;
};

bool Ends(pid_t pid) {
  return Eventually(kPatience, [pid] { return !Find(pid).has_value(); });
}

// A node is killed. The others lead its shards at once, for the right reason; the guard says so,
// and ends. The killed node starts again and gets its share back.
TEST(Guard, AKillIsKnownBeforeTheLeaseRunsOut) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  const auto orphans = LedBy(before, "n3");
  const pid_t guard = AwaitGuard(cluster.node("n3"));
  cluster.node("n3").Kill();
  const Table after = cluster.AwaitBalanced({"n1", "n2"});
  EXPECT_EQ(Moved(before, after), orphans);
  EXPECT_EQ(Retermed(before, after), orphans) << "a survivor's shard changed its term";
  EXPECT_TRUE(Ends(guard));
  EXPECT_THAT(cluster.node("n3").Log(), HasSubstr("its session was ended"));
  EXPECT_EQ(cluster.Metric("n1", "baton_transitions_total{reason=\"process_died\"}") +
                cluster.Metric("n2", "baton_transitions_total{reason=\"process_died\"}"),
            static_cast<double>(orphans.size()));
  cluster.Start("n3");
  cluster.AwaitBalanced({"n1", "n2", "n3"});
}

// A node that stops in order leaves its guard nothing to do, and no process behind.
TEST(Guard, EndsWithANodeThatStops) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  const pid_t guard = AwaitGuard(cluster.node("n2"));
  cluster.node("n2").Signal(SIGTERM);
  ASSERT_TRUE(cluster.node("n2").WaitExit());
  EXPECT_TRUE(Ends(guard));
  EXPECT_THAT(cluster.node("n2").Log(), Not(HasSubstr("its session was ended")));
  cluster.AwaitBalanced({"n1"});
}

// SIGTERM to the guard alone, as service managers send it to a whole unit, does not end it. After
// SIGKILL the node starts another one, which does what the first would have done.
TEST(Guard, ThatIsKilledIsStartedAgain) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  NodeProcess& node = cluster.node("n2");
  const pid_t first = AwaitGuard(node);
  kill(first, SIGTERM);
  kill(first, SIGKILL);
  ASSERT_TRUE(Eventually(kPatience, [&] {
    const auto guard = GuardOf(node.pid());
    return guard && *guard != first;
  }));
  EXPECT_THAT(node.Log(), HasSubstr("the guard ended, and is started again: signal 9"));
  node.Kill();
  cluster.AwaitBalanced({"n1"});
}

// The guard stands still while its node dies and starts again. Where it stands is chance: it may
// hold the shared lock by then, and the node starts after two seconds without a proof; or not, and
// the node takes its session over. When the guard goes on, it ends nothing that lives.
TEST(Guard, ThatComesTooLateEndsNothing) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  const pid_t guard = AwaitGuard(cluster.node("n2"));
  Stopped stopped(guard);
  cluster.node("n2").Kill();
  cluster.Start("n2");
  const Table taken = cluster.AwaitBalanced({"n1", "n2"});
  stopped.GoOn();
  EXPECT_TRUE(Ends(guard));
  EXPECT_THAT(Retermed(taken, cluster.AwaitBalanced({"n1", "n2"})), IsEmpty());
}

// A node is killed and started at once, again and again: its restart and its guard race. Either
// way every shard is led by one node, and soon. (The node itself gets less and less: it flaps.)
TEST(Guard, RacesRestarts) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2", "n3"});
  cluster.AwaitBalanced({"n1", "n2", "n3"});
  for (int round = 0; round < 10; ++round) {
    cluster.node("n3").Kill();
    cluster.Start("n3");
    cluster.AwaitLed();
  }
}

// One guard for two nodes. It ends the session of each that dies, also of one that starts again and
// dies again; and its own death costs nothing.
TEST(Guard, IsShared) {
  Cluster cluster(SharedEtcd(), Guarded("shared"));
  std::vector<std::string> line = {BATON_GUARD,
                                   "--etcd",
                                   SharedEtcd().endpoints().front(),
                                   "--state-dir",
                                   cluster.StateDir("n2"),
                                   "--state-dir",
                                   cluster.StateDir("n3")};
  const std::vector<std::string> etcd = EtcdFlags();
  line.insert(line.end(), etcd.begin(), etcd.end());
  const std::string log = cluster.folder() + "/guard.log";
  auto guard = Subprocess::Start({.arguments = line, .output_path = log});
  ASSERT_TRUE(guard.ok());
  cluster.StartAll({"n1", "n2", "n3"});
  cluster.AwaitBalanced({"n1", "n2", "n3"});
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1", "n3"});
  cluster.node("n3").Kill();
  cluster.AwaitBalanced({"n1"});
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1"});
  guard.value()->Kill();
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});
}

// Bad settings end it with one line.
TEST(Guard, SaysWhatIsWrongWithItsSettings) {
  const std::string log = FreshFolder() + "/guard.log";
  const auto says = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> line = {BATON_GUARD};
    line.insert(line.end(), flags.begin(), flags.end());
    std::filesystem::remove(log);
    const auto ended =
        RunProgram({.arguments = line, .output_path = log}, BootClock::now() + kPatience);
    EXPECT_TRUE(ended.ok() && ended.value().code == 2);
    std::ifstream file(log);
    std::string first;
    std::getline(file, first);
    return first;
  };
  EXPECT_EQ(says({}), "baton-guard: give the --state-dir of each node");
  EXPECT_THAT(says({"--state-dir", "/x", "--etcd", "nowhere"}), HasSubstr("nowhere"));
  EXPECT_THAT(says({"--what"}), HasSubstr("see baton-guard --help"));
  std::filesystem::remove_all(std::filesystem::path(log).parent_path());
}

}  // namespace
}  // namespace baton::e2e
