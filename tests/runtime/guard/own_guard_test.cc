// A node's own guard: when the program is started, and what it reads.
#include "runtime/guard/own_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/subprocess.h"
#include "runtime/guard/start_own_guard.h"
#include "runtime/state_lock.h"

namespace baton::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};
constexpr int kLookMs = 5;

bool Eventually(const std::function<bool()>& condition) {
  const TimePoint until = Clock::Real().Now() + kPatience;
  while (!condition()) {
    if (Clock::Real().Now() > until) return false;
    poll(nullptr, 0, kLookMs);
  }
  return true;
}

class OwnGuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "baton-guard-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    std::ofstream(Program()) << "#!/bin/sh\n"
                             << "echo $$ >>'" << directory_ << "/starts'\n"
                             << "while read -r line; do\n"
                             << "  printf '%s\\n' \"$line\" >>'" << directory_ << "/lines'\n"
                             << "done\n";
    std::filesystem::permissions(Program(), std::filesystem::perms::owner_all);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Program() const { return directory_ + "/guard"; }
  std::vector<std::string> LinesOf(const std::string& name) const {
    std::ifstream file(directory_ + "/" + name);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  /// The certificates in what all guards have read so far.
  std::vector<std::string> CertificatesRead() const {
    std::vector<std::string> found;
    for (const std::string& line : LinesOf("lines")) {
      const auto settings = ParseGuardSettings(line);
      found.push_back(settings ? settings.value().etcd.cert_pem : "half a line");
    }
    return found;
  }

  std::string directory_;
  NodeLog log_{[](const LogRecord&) {}, LogLevel::kError};
};

// Plan: the node's certificate changes while a guard runs, and that guard reads the new one. Then
// the guard is killed. The next one reads both, the new one last: etcd may not take that yet. To
// set the same once more changes nothing.
TEST_F(OwnGuardTest, EachGuardReadsTheNewestCredentials) {
  auto started = OwnGuard::Start(
      Program(), {.group = "orders", .node = "n1", .etcd = {.cert_pem = "first"}}, log_);
  ASSERT_TRUE(started.ok()) << started.error().message;
  OwnGuard& guard = *started.value();
  ASSERT_TRUE(Eventually([&] { return CertificatesRead() == std::vector<std::string>{"first"}; }));
  guard.SetCredentials({.cert_pem = "second"});
  const std::vector<std::string> both = {"first", "first", "second"};
  ASSERT_TRUE(Eventually([&] { return CertificatesRead() == both; }));
  guard.SetCredentials({.cert_pem = "second"});
  ASSERT_EQ(LinesOf("starts").size(), 1u);
  kill(static_cast<pid_t>(std::stol(LinesOf("starts").front())), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return CertificatesRead().size() == 5; }));
  EXPECT_THAT(CertificatesRead(), ElementsAre("first", "first", "second", "first", "second"));
  EXPECT_EQ(LinesOf("starts").size(), 2u);
  EXPECT_TRUE(Eventually([&] { return guard.counters().starts == 2; }));
}

// Plan: etcd refuses each of three certificates that the node gets one after another, so the node
// goes on with the first. The guard knows all four, in their order, and so does the next one.
TEST_F(OwnGuardTest, GuardsKnowWhatANodeUsesAfterSeveralThatEtcdRefuses) {
  auto started = OwnGuard::Start(
      Program(), {.group = "orders", .node = "n1", .etcd = {.cert_pem = "first"}}, log_);
  ASSERT_TRUE(started.ok()) << started.error().message;
  OwnGuard& guard = *started.value();
  ASSERT_TRUE(Eventually([&] { return !CertificatesRead().empty(); }));
  for (const char* refused : {"second", "third", "fourth"}) {
    guard.SetCredentials({.cert_pem = refused});
  }
  const std::vector<std::string> all = {"first", "second", "third", "fourth"};
  const auto last_read = [&] {
    auto read = CertificatesRead();
    if (read.size() > all.size()) read.erase(read.begin(), read.end() - 4);
    return read;
  };
  ASSERT_TRUE(Eventually([&] { return last_read() == all; }));
  kill(static_cast<pid_t>(std::stol(LinesOf("starts").front())), SIGKILL);
  const std::size_t before = CertificatesRead().size();
  ASSERT_TRUE(Eventually([&] { return CertificatesRead().size() == before + 4; }));
  EXPECT_EQ(last_read(), all);
}

std::ptrdiff_t EntriesOf(const std::string& folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

/// The children of this process, also those that have ended and that nobody has waited for.
std::vector<pid_t> ChildrenOfThis() {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = each.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(each.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;  // it has just ended
    std::istringstream words(stat.substr(stat.rfind(')') + 1));
    std::string state;
    pid_t parent = 0;
    if (words >> state >> parent && parent == getpid()) {
      children.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return children;
}

/// The processes that wait for a lock on a file, each as often as it waits. /proc/locks marks them
/// by an arrow.
std::vector<pid_t> WaitForLocks() {
  std::vector<pid_t> waiting;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, arrow, kind, manner, access;
    pid_t owner = 0;
    words >> number >> arrow >> kind >> manner >> access >> owner;
    if (arrow == "->") waiting.push_back(owner);
  }
  return waiting;
}

/// Waits until the children of this process wait for so many locks.
bool ChildrenWaitForLocks(std::size_t count) {
  return Eventually([&] {
    const std::vector<pid_t> waiting = WaitForLocks();
    if (waiting.size() < count) return false;
    const std::vector<pid_t> children = ChildrenOfThis();
    const auto is_child = [&](pid_t owner) { return std::ranges::count(children, owner) > 0; };
    return std::ranges::count_if(waiting, is_child) >= static_cast<std::ptrdiff_t>(count);
  });
}

/// The state directories of nodes that live beside each other, which is quicker than one by one.
std::vector<std::string> StateDirectories(const std::string& parent, std::size_t count) {
  std::vector<std::string> directories;
  for (std::size_t i = 0; i < count; ++i) {
    directories.push_back(parent + "/state" + std::to_string(i));
    std::filesystem::create_directory(directories.back());
  }
  return directories;
}

/// Null, and a failure: it was not free in time. A late guard still reads the file.
std::unique_ptr<StateLock> TakeLock(const std::string& directory) {
  std::unique_ptr<StateLock> lock;
  EXPECT_TRUE(Eventually([&] {
    auto taken = StateLock::Take(directory, "orders", "n1", {.guarded = true});
    if (taken) lock = std::move(taken).value();
    return lock != nullptr;
  }));
  return lock;
}

/// A life of each node, as its guard sees it: the node takes its lock, starts the guard, has a
/// session, ends it, and lets go of the lock. Returns for how many guards the nodes' ends waited
/// in vain.
std::size_t LiveWithGuards(const std::vector<std::string>& directories, NodeLog& log) {
  std::vector<std::unique_ptr<StateLock>> locks;
  std::vector<std::unique_ptr<OwnGuard>> guards;
  for (const std::string& directory : directories) {
    locks.push_back(TakeLock(directory));
    if (locks.back() == nullptr) return 0;
    auto started = OwnGuard::Start(BATON_GUARD,
                                   {.group = "orders",
                                    .node = "n1",
                                    .state_dir = directory,
                                    .hang_timeout = std::chrono::minutes(1),
                                    .process = getpid()},
                                   log);
    EXPECT_TRUE(started.ok()) << started.error().message;
    if (!started.ok()) return 0;
    guards.push_back(std::move(started).value());
    EXPECT_TRUE(locks.back()->RecordSession({.session = SessionId{5}}).ok());
  }
  EXPECT_TRUE(ChildrenWaitForLocks(directories.size()));
  for (const auto& lock : locks) EXPECT_TRUE(lock->RecordSession({}).ok());
  locks.clear();
  std::size_t late = 0;
  for (auto& guard : guards) {
    const TimePoint ends = Clock::Real().Now();
    guard.reset();
    late += Clock::Real().Now() - ends >= std::chrono::seconds(1) ? 1 : 0;
  }
  return late;
}

// Plan: ten nodes of this process start and stop beside each other, a hundred times, with the real
// program. Nothing stays: no descriptor, thread, child or file. A guard that takes a second to end,
// on a busy machine, is left to itself, so it may stay a child.
TEST_F(OwnGuardTest, AThousandStartsAndStopsLeaveNothing) {
  const std::vector<std::string> directories = StateDirectories(directory_, 10);
  const auto all_files = [&] {
    std::ptrdiff_t files = 0;
    for (const std::string& directory : directories) files += EntriesOf(directory);
    return files;
  };
  LiveWithGuards(directories, log_);
  const auto descriptors = EntriesOf("/proc/self/fd");
  const auto threads = EntriesOf("/proc/self/task");
  const auto files = all_files();
  const std::size_t children = ChildrenOfThis().size();
  std::size_t late = 0;
  for (std::size_t lives = 0; lives < GUARDED_LIVES && !HasFailure(); lives += directories.size()) {
    late += LiveWithGuards(directories, log_);
  }
  EXPECT_EQ(EntriesOf("/proc/self/fd"), descriptors);
  EXPECT_EQ(EntriesOf("/proc/self/task"), threads);
  EXPECT_EQ(all_files(), files);
  EXPECT_LE(ChildrenOfThis().size(), children + late);
}

// Plan: the same with 25 nodes beside one shared guard, forty times. It takes up to a fifth of a
// second until the guard waits for a node that has started again. It has as many descriptors and
// threads at last as at first.
TEST_F(OwnGuardTest, AThousandStartsAndStopsLeaveNothingInASharedGuard) {
  const std::vector<std::string> directories = StateDirectories(directory_, 25);
  std::vector<std::string> line = {BATON_GUARD, "--etcd", "127.0.0.1:1"};  // nothing is ended
  for (const std::string& directory : directories) {
    line.insert(line.end(), {"--state-dir", directory});
  }
  auto guard = Subprocess::Start({.arguments = line});
  ASSERT_TRUE(guard.ok()) << guard.error().message;
  const std::string process = "/proc/" + std::to_string(guard.value()->pid());
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t threads = 0;
  for (std::size_t lives = 0; lives < GUARDED_LIVES && !HasFailure(); lives += directories.size()) {
    std::vector<std::unique_ptr<StateLock>> locks;
    for (const std::string& directory : directories) {
      locks.push_back(TakeLock(directory));
      ASSERT_NE(locks.back(), nullptr);
      ASSERT_TRUE(locks.back()->RecordSession({.session = SessionId{5}}).ok());
    }
    ASSERT_TRUE(ChildrenWaitForLocks(directories.size()));
    if (lives == 0) {
      descriptors = EntriesOf(process + "/fd");
      threads = EntriesOf(process + "/task");
    }
    EXPECT_EQ(EntriesOf(process + "/fd"), descriptors);
    EXPECT_EQ(EntriesOf(process + "/task"), threads);
    for (const auto& lock : locks) ASSERT_TRUE(lock->RecordSession({}).ok());
  }
  EXPECT_FALSE(guard.value()->Poll()) << "it has ended";
}

struct Started {
  bool ok = false;
  bool guard = false;
  std::string cannot_act;
  std::vector<std::string> warnings;  ///< that were logged
};
Started Start(const NodeOptions& options, const std::string& why_not = "") {
  Started started;
  NodeLog log([&](const LogRecord& record) { started.warnings.push_back(record.text); },
              LogLevel::kWarn);
  auto result = StartOwnGuard(options, why_not, log);
  started.ok = result.ok();
  if (result.ok()) {
    started.guard = result.value().guard != nullptr;
    started.cannot_act = result.value().cannot_act;
  }
  log.Finish();
  return started;
}

// Plan: a node that shall have a guard knows why it has none, and says so once. One that shall have
// none says nothing.
TEST_F(OwnGuardTest, ANodeSaysWhyNoGuardActsForIt) {
  NodeOptions options;
  options.state_dir = directory_;
  const Started off = Start(options, "its lock proves nothing");
  EXPECT_EQ(off.cannot_act, "");
  EXPECT_THAT(off.warnings, IsEmpty());
  options.guard = GuardMode::kOwn;
  options.guard_program = "";
  const Started without = Start(options);
  EXPECT_TRUE(without.ok);
  EXPECT_FALSE(without.guard);
  EXPECT_EQ(without.cannot_act,
            "there is no program baton-guard: install it beside this program or on PATH");
  EXPECT_THAT(without.warnings, ElementsAre("no guard acts for this node: " + without.cannot_act +
                                            "; if its process dies, its lease has to run out"));
  options.guard_program = Program();
  const Started with = Start(options);
  EXPECT_TRUE(with.guard);
  EXPECT_EQ(with.cannot_act, "");
  EXPECT_THAT(with.warnings, IsEmpty());
  options.guard = GuardMode::kShared;
  EXPECT_EQ(Start(options).cannot_act, "");
  const Started shared = Start(options, "its lock proves nothing");
  EXPECT_EQ(shared.cannot_act, "its lock proves nothing");
  EXPECT_EQ(shared.warnings.size(), 1u);
}

// Plan: from the TTL on, the lease of a node that hangs ends first.
TEST_F(OwnGuardTest, AHangTimeoutThatGainsNothingIsNamed) {
  NodeOptions options;
  options.state_dir = directory_;
  options.guard = GuardMode::kOwn;
  options.guard_program = Program();
  options.ttl = std::chrono::seconds(3);
  options.hang_timeout = std::chrono::milliseconds(2999);
  EXPECT_THAT(Start(options).warnings, IsEmpty());
  options.hang_timeout = std::chrono::seconds(3);
  EXPECT_THAT(Start(options).warnings,
              ElementsAre("the hang timeout (3s) is not below the TTL (3s): the lease of a node "
                          "that hangs ends first, so its guard gains nothing; give a shorter hang "
                          "timeout"));
}

}  // namespace
}  // namespace baton::runtime
