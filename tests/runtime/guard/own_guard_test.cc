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

/// Whether one of these processes waits for a lock on a file. /proc/locks marks it by an arrow.
bool OneWaitsForALock(const std::vector<pid_t>& processes) {
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, arrow, kind, manner, access;
    pid_t owner = 0;
    words >> number >> arrow >> kind >> manner >> access >> owner;
    if (arrow == "->" && std::ranges::count(processes, owner) > 0) return true;
  }
  return false;
}

/// A node's life as its guard sees it: the node takes its lock, starts the guard, has a session,
/// ends it, and lets go of the lock. Returns how long the node's end waited for the guard's.
Duration LiveWithAGuard(const std::string& directory, NodeLog& log) {
  std::unique_ptr<StateLock> lock;
  EXPECT_TRUE(Eventually([&] {
    auto taken = StateLock::Take(directory, "orders", "n1", {.guarded = true});
    if (!taken) return false;  // a late guard still reads the file
    lock = std::move(taken).value();
    return true;
  }));
  if (lock == nullptr) return Duration{0};
  auto started = OwnGuard::Start(BATON_GUARD,
                                 {.group = "orders",
                                  .node = "n1",
                                  .state_dir = directory,
                                  .hang_timeout = std::chrono::minutes(1),
                                  .process = getpid()},
                                 log);
  EXPECT_TRUE(started.ok()) << started.error().message;
  EXPECT_TRUE(lock->RecordSession({.session = SessionId{5}}).ok());
  EXPECT_TRUE(Eventually([] { return OneWaitsForALock(ChildrenOfThis()); }));
  EXPECT_TRUE(lock->RecordSession({}).ok());
  lock.reset();
  const TimePoint ends = Clock::Real().Now();
  started.value().reset();
  return Clock::Real().Now() - ends;
}

// Plan: a node of this process starts and stops 200 times, with the real program. (1,000 times take
// a minute.) Nothing stays: no descriptor, thread, child or file. A guard that takes a second to
// end, on a busy machine, is left to itself, so it may stay a child.
TEST_F(OwnGuardTest, ManyStartsAndStopsLeaveNothing) {
  const std::string state = directory_ + "/state";
  std::filesystem::create_directory(state);
  LiveWithAGuard(state, log_);
  const auto descriptors = EntriesOf("/proc/self/fd");
  const auto threads = EntriesOf("/proc/self/task");
  const auto files = EntriesOf(state);
  const std::size_t children = ChildrenOfThis().size();
  std::size_t late = 0;
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    late += LiveWithAGuard(state, log_) >= std::chrono::seconds(1) ? 1 : 0;
  }
  EXPECT_EQ(EntriesOf("/proc/self/fd"), descriptors);
  EXPECT_EQ(EntriesOf("/proc/self/task"), threads);
  EXPECT_EQ(EntriesOf(state), files);
  EXPECT_LE(ChildrenOfThis().size(), children + late);
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
