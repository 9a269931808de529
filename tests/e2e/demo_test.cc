// `batonctl demo` as a first-time user runs it: the real program, its own etcd, real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/subprocess.h"

namespace baton {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

/// Runs one demo with its output in a file.
class Demo {
 public:
  explicit Demo(std::vector<std::string> flags) {
    std::string name = (fs::temp_directory_path() / "baton-demo-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(TemporaryFolder());
    std::vector<std::string> arguments = {BATONCTL, "demo"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    auto started = Subprocess::Start({.arguments = arguments,
                                      .environment = {"TMPDIR=" + TemporaryFolder()},
                                      .output_path = folder_ + "/out"});
    EXPECT_TRUE(started.ok());
    process_ = std::move(started).value();
  }
  ~Demo() {
    process_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string Output() const {
    std::ifstream file(folder_ + "/out");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  Subprocess& process() { return *process_; }

  /// Waits for the end and returns the exit code, or -1 if it does not end in time.
  int End() {
    const auto ended = process_->Wait(BootClock::now() + std::chrono::minutes(4));
    return ended && ended->signal == 0 ? ended->code : -1;
  }
  bool WaitFor(const std::string& words) {
    const TimePoint deadline = BootClock::now() + std::chrono::minutes(2);
    while (Output().find(words) == std::string::npos) {
      const auto ended = process_->Wait(BootClock::now() + std::chrono::milliseconds(20));
      if (ended || BootClock::now() > deadline) return Output().find(words) != std::string::npos;
    }
    return true;
  }
  /// The first match of the expression's first group.
  std::string Find(const std::string& expression) const {
    std::smatch match;
    const std::string output = Output();
    return std::regex_search(output, match, std::regex(expression)) ? match[1].str() : "";
  }
  /// Where it puts its own folders.
  std::string TemporaryFolder() const { return folder_ + "/tmp"; }
  std::string EtcdFolder() const { return Find("folder ([^, ]+)"); }

 private:
  std::string folder_;
  std::unique_ptr<Subprocess> process_;
};

/// Processes whose command line names the folder: the demo's etcd and nodes.
std::vector<pid_t> ProcessesOf(const std::string& folder) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string line(std::istreambuf_iterator<char>(file), {});
    if (line.find(folder) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

std::size_t CountOf(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

// Plan: a demo of two nodes and a few shards runs to its end. Every claim holds, and the counts are
// even. No process and no folder is left, and there are no colours in a file. The leases are long
// enough for a machine that stands still for seconds, here and below.
TEST(BatonctlDemo, ShowsTheMainJobAndEveryClaimHolds) {
  Demo demo({"--nodes", "2", "--shards", "256", "--ttl", "8s"});
  EXPECT_EQ(demo.End(), 0) << demo.Output();
  const std::string output = demo.Output();
  EXPECT_THAT(output, Not(HasSubstr("FAIL"))) << output;
  EXPECT_THAT(output, HasSubstr("128/128"));
  EXPECT_THAT(output, HasSubstr("the fewest moves (85), nothing else moved"));
  EXPECT_THAT(output, HasSubstr("refused (guarded by term"));
  EXPECT_THAT(output, HasSubstr("0/256"));
  EXPECT_EQ(CountOf(output, "never two leaders of a shard"), 6u);
  EXPECT_THAT(output, HasSubstr(" passed, 0 failed"));
  EXPECT_THAT(output, Not(HasSubstr("\033")));
  ASSERT_THAT(demo.EtcdFolder(), Not(IsEmpty()));
  EXPECT_FALSE(fs::exists(demo.EtcdFolder()));
  EXPECT_THAT(ProcessesOf(demo.EtcdFolder()), IsEmpty());
}

// Plan: the same with certificates everywhere. Who has none gets in nowhere, a reader may not
// drain, and all certificates are replaced while streams and calls go on. Not even their folder is
// left.
TEST(BatonctlDemo, SecureReplacesAllCertificatesUnderLoad) {
  Demo demo({"--secure", "--nodes", "2", "--shards", "64", "--ttl", "8s"});
  EXPECT_EQ(demo.End(), 0) << demo.Output();
  const std::string output = demo.Output();
  EXPECT_THAT(output, Not(HasSubstr("FAIL"))) << output;
  EXPECT_THAT(output, HasSubstr("4 and 4 of 4 ports, gRPC and HTTP")) << output;
  EXPECT_THAT(output, HasSubstr("cn:reader may not do this: it needs the role operate"));
  EXPECT_THAT(output, HasSubstr("5 of 5 ports, etcd's too, after "));
  EXPECT_THAT(output, testing::ContainsRegex("2 streams, [0-9]+ events, 0 missing"));
  EXPECT_THAT(output, testing::ContainsRegex("[0-9]+ answered, 0 failed"));
  EXPECT_EQ(CountOf(output, "the fewest moves (0), nothing else moved"), 1u);
  EXPECT_THAT(ProcessesOf(demo.TemporaryFolder()), IsEmpty());
  EXPECT_TRUE(fs::is_empty(demo.TemporaryFolder()));
}

// Plan: Ctrl-C in the middle, while nodes and etcd run. All of them end, and the folder is deleted.
TEST(BatonctlDemo, CtrlCEndsEverythingItStarted) {
  Demo demo({"--nodes", "2", "--shards", "64"});
  ASSERT_TRUE(demo.WaitFor("A node joins")) << demo.Output();
  const std::string folder = demo.EtcdFolder();
  EXPECT_THAT(ProcessesOf(folder), Not(IsEmpty()));
  demo.process().Signal(SIGINT);
  EXPECT_EQ(demo.End(), 130) << demo.Output();
  EXPECT_THAT(demo.Output(), HasSubstr("interrupted"));
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_THAT(ProcessesOf(folder), IsEmpty());
}

// Plan: with --keep the cluster answers batonctl after the demo's end, and can be ended by the
// process ids that the demo printed.
TEST(BatonctlDemo, KeepLeavesAClusterThatBatonctlTalksTo) {
  Demo demo({"--nodes", "2", "--shards", "64", "--ttl", "2s", "--keep"});
  EXPECT_EQ(demo.End(), 0) << demo.Output();
  const std::string endpoint = demo.Find("BATON_ENDPOINT=([^ ]+) [^ ]*/batonctl status");
  const auto asked =
      RunProgram({.arguments = {BATONCTL, "--endpoint", endpoint, "health", "--wait"}},
                 BootClock::now() + std::chrono::seconds(30));
  ASSERT_TRUE(asked.ok());
  EXPECT_TRUE(asked.value().success()) << demo.Output();

  const std::string folder = demo.EtcdFolder();
  for (const char* pids : {"  kill([0-9 ]+) &&", "; kill([0-9 ]+);"}) {
    std::istringstream words(demo.Find(pids));
    for (pid_t pid = 0; words >> pid;) kill(pid, SIGKILL);
  }
  const TimePoint deadline = BootClock::now() + std::chrono::seconds(10);
  while (!ProcessesOf(folder).empty() && BootClock::now() < deadline) sched_yield();
  EXPECT_THAT(ProcessesOf(folder), IsEmpty());
  fs::remove_all(folder);
}

// Plan: values that the demo can't show are usage errors, and start nothing.
TEST(BatonctlDemo, RefusesWhatItCannotShow) {
  for (const auto& flags :
       {std::vector<std::string>{"--nodes", "1"}, std::vector<std::string>{"--ttl", "1500ms"},
        std::vector<std::string>{"--shards", "0"},
        std::vector<std::string>{"--secure", "--keep"}}) {
    Demo demo(flags);
    EXPECT_EQ(demo.End(), 2) << demo.Output();
    EXPECT_THAT(demo.Output(), HasSubstr(flags.front()));
  }
}

}  // namespace
}  // namespace baton
