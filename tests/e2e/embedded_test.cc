// The example programs that the README shows. They embed a node, and link the shared libraries as a
// user's programs do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The example programs of one test. Each one's output goes to a file in a folder of the test's
/// own.
class Examples {
 public:
  Examples() {
    std::string pattern = testing::TempDir() + "baton-examples-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Examples() {
    if (!testing::Test::HasFailure()) std::filesystem::remove_all(folder_);
  }
  Examples(const Examples&) = delete;
  Examples& operator=(const Examples&) = delete;

  std::unique_ptr<Subprocess> Start(const std::string& name, std::vector<std::string> arguments) {
    auto started = Subprocess::Start({.arguments = std::move(arguments),
                                      .output_path = Path(name),
                                      .lifetime = ChildLifetime::kDiesWithStartingThread});
    if (!started) throw Unmet(started.error().message);
    return std::move(started).value();
  }
  /// Runs the program to its end, and returns whether it exited with 0.
  bool Run(const std::string& name, std::vector<std::string> arguments) const {
    const auto ran = RunProgram({.arguments = std::move(arguments), .output_path = Path(name)},
                                BootClock::now() + kPatience);
    return ran.ok() && ran.value().success();
  }
  std::string Output(const std::string& name) const {
    std::ifstream in(Path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  /// Waits until the program has printed `text`.
  bool Prints(const std::string& name, const std::string& text) const {
    return Eventually(kPatience, [&] { return Output(name).find(text) != std::string::npos; });
  }

 private:
  std::string folder_;
};

/// A loopback address that belongs to this process alone, as its process id is part of it. So a
/// fixed port is free.
std::string OwnAddress(int port) {
  const auto id = static_cast<unsigned>(getpid());
  return "127." + std::to_string(id >> 16 & 0xff) + "." + std::to_string(id >> 8 & 0xff) + "." +
         std::to_string(id & 0xff) + ":" + std::to_string(port);
}

bool HandsOverAndEnds(Subprocess& program) {
  program.Signal(SIGTERM);
  const auto exit = program.Wait(BootClock::now() + kPatience);
  return exit.has_value() && exit->success();
}

// Plan: two nodes share the shards and log it, batonctl reaches them, and its doctor examines one.
// The test stops one node while orders come in: it hands over, writes its metrics and exits with
// 0. No order fails, and from then on the other node takes them all.
TEST(Orders, NoCallFailsWhileANodeHandsOver) {
  if (TheWorld() != World::kPlain) GTEST_SKIP() << "the example takes no credentials";
  Examples examples;
  const std::string etcd = SharedEtcd().endpoints().at(0);
  const std::string n1 = OwnAddress(7400);
  const std::string n2 = OwnAddress(7410);
  const auto first = examples.Start("n1", {ORDERS_SERVICE, "n1", n1, etcd});
  const auto second = examples.Start("n2", {ORDERS_SERVICE, "n2", n2, etcd});
  ASSERT_TRUE(examples.Run("health", {BATONCTL, "--endpoint", n1, "health", "--wait"}))
      << examples.Output("health") << examples.Output("n1");
  const auto caller = examples.Start("caller", {ORDERS_CALLER, "0", n1, n2});
  ASSERT_TRUE(examples.Prints("caller", "taken by n1")) << examples.Output("caller");
  ASSERT_TRUE(examples.Prints("caller", "taken by n2")) << examples.Output("caller");
  EXPECT_TRUE(examples.Prints("n1", "info  transition shard=")) << examples.Output("n1");
  ASSERT_TRUE(examples.Run("status", {BATONCTL, "--endpoint", n2, "status"}));
  EXPECT_THAT(examples.Output("status"), HasSubstr("orders: 16 shards, 2 live nodes"));
  EXPECT_TRUE(examples.Run("doctor", {BATONCTL, "--endpoint", n1, "doctor"}))
      << examples.Output("doctor");
  for (const char* finding : {"ok       session", "ok       etcd_cluster", "ok       shards"}) {
    EXPECT_THAT(examples.Output("doctor"), HasSubstr(finding));
  }

  EXPECT_TRUE(HandsOverAndEnds(*first)) << examples.Output("n1");
  EXPECT_THAT(examples.Output("n1"), HasSubstr("baton_shards_led{group=\"orders\"} 0"));
  const std::size_t before = examples.Output("caller").size();
  ASSERT_TRUE(Eventually(kPatience, [&] {
    const std::string output = examples.Output("caller");
    return std::count(output.begin() + static_cast<long>(before), output.end(), '\n') > 100;
  })) << examples.Output("caller");
  EXPECT_TRUE(HandsOverAndEnds(*caller)) << examples.Output("caller");
  EXPECT_THAT(examples.Output("caller"), Not(HasSubstr("failed")));

  ASSERT_TRUE(examples.Run("later", {ORDERS_CALLER, "200", n1, n2})) << examples.Output("later");
  EXPECT_THAT(examples.Output("later"), Not(HasSubstr("n1")));
  EXPECT_TRUE(HandsOverAndEnds(*second)) << examples.Output("n2");
}

// Plan: of two processes one does the job. When the test stops it, the other one goes on.
TEST(Leader, AnotherProcessTakesTheJobOver) {
  if (TheWorld() != World::kPlain) GTEST_SKIP() << "the example takes no credentials";
  Examples examples;
  const std::string etcd = SharedEtcd().endpoints().at(0);
  const auto first = examples.Start("n1", {SINGLE_LEADER, "n1", etcd});
  ASSERT_TRUE(examples.Prints("n1", "leading, term ")) << examples.Output("n1");
  const auto second = examples.Start("n2", {SINGLE_LEADER, "n2", etcd});
  EXPECT_TRUE(HandsOverAndEnds(*first)) << examples.Output("n1");
  EXPECT_TRUE(examples.Prints("n2", "leading, term ")) << examples.Output("n2");
  EXPECT_TRUE(HandsOverAndEnds(*second)) << examples.Output("n2");
}

// Plan: the group has two shards already, so the program's node halts. The program says why, and
// ends.
TEST(Leader, EndsIfItsNodeHalts) {
  if (TheWorld() != World::kPlain) GTEST_SKIP() << "the example takes no credentials";
  Examples examples;
  auto own = StartEtcd();
  ASSERT_TRUE(own.ok()) << own.error().message;
  const std::string etcd = own.value()->endpoints().at(0);
  const std::string address = OwnAddress(7420);
  const auto other = examples.Start(
      "n0", {BATOND, "--group", "nightly-job", "--shards", "2", "--node", "n0", "--listen", address,
             "--http", OwnAddress(7421), "--etcd", etcd, "--state-dir", examples.Path("n0-state")});
  ASSERT_TRUE(examples.Run("health", {BATONCTL, "--endpoint", address, "health", "--wait"}))
      << examples.Output("n0");
  const auto leader = examples.Start("n1", {SINGLE_LEADER, "n1", etcd});
  const auto exit = leader->Wait(BootClock::now() + kPatience);
  ASSERT_TRUE(exit.has_value()) << examples.Output("n1");
  EXPECT_FALSE(exit->success());
  EXPECT_THAT(examples.Output("n1"), HasSubstr("the group has 2 shards, this node was given 1"));
}

}  // namespace
}  // namespace baton::e2e
