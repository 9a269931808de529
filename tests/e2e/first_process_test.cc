// batond as the first process of a pid namespace, as in a container: its node can die, and nobody
// else there dies with it before the guard's work is done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

using testing::HasSubstr;

// So long that nothing in these tests waits for a lease to end.
constexpr std::chrono::seconds kLongLease{120};
const char* const kNamespace = "unshare";

bool CanMakeNamespaces() {
  const auto ran = RunProgram(
      {.arguments = {kNamespace, "--fork", "--pid", "--mount-proc", "--kill-child", "true"}},
      BootClock::now() + kPatience);
  return ran.ok() && ran.value().success();
}

std::optional<pid_t> ChildOf(pid_t parent, const std::string& name) {
  for (const pid_t pid : AllProcesses()) {
    const auto found = FindProcess(pid);
    if (found && found->parent == parent && found->name == name && !found->zombie) return pid;
  }
  return std::nullopt;
}

class FirstProcess : public testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeNamespaces()) GTEST_SKIP() << "only root may make pid namespaces";
  }
  /// Starts a batond as the first process of a namespace. NodeProcess is unshare, its parent.
  NodeProcess& Launch(const std::string& id, const std::vector<std::string>& flags) {
    std::vector<std::string> line = {"--fork", "--pid", "--mount-proc", "--kill-child", BATOND};
    line.insert(line.end(), flags.begin(), flags.end());
    return cluster_.LaunchProgram(id, kNamespace, line);
  }
  NodeProcess& Start(const std::string& id) {
    NodeProcess& node = Launch(id, cluster_.Flags(id));
    cluster_.WaitReady(node);
    return node;
  }
  static pid_t AwaitChild(pid_t parent, const std::string& name) {
    std::optional<pid_t> child;
    const bool found =
        Eventually(kPatience, [&] { return (child = ChildOf(parent, name)).has_value(); });
    if (!found) throw Unmet("no " + name);
    return *child;
  }

  Cluster cluster_{SharedEtcd(), {.shards = 12, .ttl = kLongLease}};
};

// Plan: the node is killed. Its shards are led elsewhere long before the lease ends, and then the
// namespace's first process ends with the node's signal in its code.
TEST_F(FirstProcess, OutlivesItsNodeUntilTheGuardIsDone) {
  cluster_.Start("n1");
  NodeProcess& container = Start("n2");
  cluster_.AwaitBalanced({"n1", "n2"});
  const pid_t first = AwaitChild(container.pid(), "batond");
  const pid_t node = AwaitChild(first, "batond");
  AwaitChild(node, "baton-guard");
  kill(node, SIGKILL);
  const auto exit = container.WaitExit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 128 + SIGKILL);
  cluster_.AwaitBalanced({"n1"});
  EXPECT_THAT(container.Log(), HasSubstr("its session was ended"));
  EXPECT_EQ(cluster_.Metric("n1", "baton_transitions_total{reason=\"process_died\"}"), 6);
}

// Plan: SIGTERM comes to the first process, as an orchestrator sends it. The node hands its shards
// over and ends; the guard finds nothing to do.
TEST_F(FirstProcess, PassesSignalsAndExitCodesOn) {
  cluster_.Start("n1");
  NodeProcess& container = Start("n2");
  cluster_.AwaitBalanced({"n1", "n2"});
  kill(AwaitChild(container.pid(), "batond"), SIGTERM);
  const auto exit = container.WaitExit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 0) << container.Log();
  EXPECT_THAT(container.Log(), testing::AllOf(HasSubstr("drained"),
                                              testing::Not(HasSubstr("its session was ended"))));
  cluster_.AwaitBalanced({"n1"});

  // The lock of n1 is taken: that node can't start, and says so by its code.
  std::vector<std::string> flags = cluster_.Flags("n1");
  *std::find(flags.begin(), flags.end(), cluster_.folder() + "/n1.ready") += ".twin";
  NodeProcess& refused = Launch("n1 twin", flags);
  const auto code = refused.WaitExit();
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->code, 1) << refused.Log();
}

// Plan: a process in the namespace ends, and its child lives on: the first process adopts it. When
// it ends too, it does not stay as a zombie.
TEST_F(FirstProcess, ReapsOrphans) {
  NodeProcess& container = Start("n1");
  const pid_t first = AwaitChild(container.pid(), "batond");
  AwaitChild(first, "batond");
  const std::string fifo = cluster_.folder() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const auto ran = RunProgram({.arguments = {"nsenter", "--target", std::to_string(first), "--pid",
                                             "sh", "-c", "cat '" + fifo + "' &"}},
                              BootClock::now() + kPatience);
  ASSERT_TRUE(ran.ok() && ran.value().success());
  const pid_t orphan = AwaitChild(first, "cat");
  std::ofstream(fifo) << "end";
  EXPECT_TRUE(Eventually(kPatience, [&] { return !FindProcess(orphan).has_value(); }));
}

// Plan: without a guard the node is the first process itself, as before there were guards.
TEST_F(FirstProcess, IsTheNodeWithoutAGuard) {
  std::vector<std::string> flags = cluster_.Flags("n1");
  flags.insert(flags.end(), kNoGuard.begin(), kNoGuard.end());
  NodeProcess& container = Launch("n1", flags);
  cluster_.WaitReady(container);
  EXPECT_FALSE(ChildOf(AwaitChild(container.pid(), "batond"), "batond"));
  EXPECT_THAT(container.Log(), testing::Not(HasSubstr("guard")));
}

}  // namespace
}  // namespace baton::e2e
