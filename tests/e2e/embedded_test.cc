// The embedding example: a program that links the shared library as a user's does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

using ::testing::HasSubstr;

std::string Content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t Count(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// Plan: alone it leads all 16 shards; batonctl reaches its admin service, and its doctor examines
// the node and its etcd; told to stop, it writes its metrics, hands over and exits with 0.
TEST(Embedded, LeadsAnswersBatonctlAndHandsOver) {
  if (TheWorld() != World::kPlain) GTEST_SKIP() << "the example takes no credentials";
  std::string pattern = testing::TempDir() + "baton-embedded-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  const std::string output = folder + "/output";
  const std::string socket = "unix:" + folder + "/socket";
  auto started =
      Subprocess::Start({.arguments = {EMBEDDED, "--etcd", SharedEtcd().endpoints().at(0),
                                       "--group", "embedded", "--listen", socket},
                         .output_path = output,
                         .lifetime = ChildLifetime::kDiesWithStartingThread});
  ASSERT_TRUE(started.ok()) << started.error().message;
  Subprocess& program = *started.value();
  ASSERT_TRUE(Eventually(kPatience, [&] { return Count(Content(output), "leading shard") == 16; }))
      << Content(output);

  // Pictures are up to 50 ms old, and only get newer: once healthy, all that follow show 16 led.
  const auto healthy =
      RunProgram({.arguments = {BATONCTL, "--endpoint", socket, "health", "--wait"}},
                 BootClock::now() + kPatience);
  ASSERT_TRUE(healthy.ok() && healthy.value().success());
  const std::string status = folder + "/status";
  const auto asked =
      RunProgram({.arguments = {BATONCTL, "--endpoint", socket, "status"}, .output_path = status},
                 BootClock::now() + kPatience);
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_TRUE(asked.value().success()) << Content(status);
  EXPECT_THAT(Content(status), HasSubstr("embedded: 16 shards, 1 live node"));

  const std::string doctor = folder + "/doctor";
  const auto examined =
      RunProgram({.arguments = {BATONCTL, "--endpoint", socket, "doctor"}, .output_path = doctor},
                 BootClock::now() + kPatience);
  ASSERT_TRUE(examined.ok()) << examined.error().message;
  EXPECT_TRUE(examined.value().success()) << Content(doctor);
  for (const char* finding : {"ok       session", "ok       etcd_cluster", "ok       shards"}) {
    EXPECT_THAT(Content(doctor), HasSubstr(finding));
  }

  program.Signal(SIGTERM);
  const auto exit = program.Wait(BootClock::now() + kPatience);
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->success()) << ToString(*exit) << Content(output);
  EXPECT_THAT(Content(output), HasSubstr("baton_shards_led{group=\"embedded\"} 16"));
  EXPECT_EQ(Count(Content(output), "no longer leading"), 16u);
  if (!HasFailure()) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace baton::e2e
