// BadInput: one batond under strain, for tests.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/http2.h"
#include "e2e/socket.h"

namespace baton::e2e {

// So many that the start alone logs more lines than a pipe of one page holds.
inline constexpr int kShards = 60;

// Far above what a batond of so few shards uses (about 30 MiB), and far below what a leak would
// use.
inline constexpr std::uint64_t kMaxGrowth = 64ull << 20;

/// Resident memory in bytes.
inline std::uint64_t Resident(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// One node that leads all shards, under strain.
class BadInput : public testing::Test {
 protected:
  void Begin(const std::vector<std::string>& flags = {}) {
    node_ = &cluster_.Start("n1", flags);
    Settle();
  }
  /// Starts batond by a shell script that must exec "$@", which is batond with its flags.
  void BeginUnder(const std::string& shell, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> line = {"-c", shell, "bash", BATOND};
    const std::vector<std::string> usual = cluster_.Flags("n1");
    line.insert(line.end(), usual.begin(), usual.end());
    line.insert(line.end(), flags.begin(), flags.end());
    node_ = &cluster_.LaunchProgram("n1", "/bin/bash", line);
    cluster_.WaitReady(*node_);
    Settle();
  }

  /// Starts batond with a log pipe that is full because nobody reads it. Returns the end to read
  /// from, or -1 if there is no such pipe.
  int BeginBeforeAStillReader() {
    if (mkfifo(LogPipe().c_str(), 0600) != 0) return -1;
    const int still = open(LogPipe().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (still < 0 || fcntl(still, F_SETPIPE_SZ, 4096) < 0) return -1;
    BeginUnder("exec 2>" + LogPipe() + "; exec \"$@\"", {"--log-level", "trace"});
    return still;
  }
  std::string LogPipe() const { return cluster_.folder() + "/log.pipe"; }

  double Renewals() const {
    return cluster_.Metric("n1", "baton_lease_renewals_total{result=\"confirmed\"}");
  }
  /// Waits for some more renewals and checks that nothing was lost: the same terms and the same
  /// process, no suspension.
  void ExpectUndisturbed() {
    const double first = Renewals();
    cluster_.Await("renewals go on", [&] { return Renewals() >= first + 3; });
    const Table after = cluster_.AwaitBalanced({"n1"});
    EXPECT_THAT(Moved(before_, after), testing::IsEmpty());
    EXPECT_THAT(Retermed(before_, after), testing::IsEmpty());
    EXPECT_EQ(cluster_.Metric("n1", "baton_transitions_total{reason=\"suspended\"}"), 0);
    EXPECT_TRUE(node_->running());
  }
  void ExpectBoundedMemory() {
    EXPECT_LT(Resident(node_->pid()), resident_ + kMaxGrowth) << "was " << resident_;
  }
  Cluster cluster_{SharedEtcd(), {.shards = kShards, .ttl = std::chrono::seconds(3)}};
  NodeProcess* node_ = nullptr;

 private:
  void Settle() {
    before_ = cluster_.AwaitBalanced({"n1"});
    resident_ = Resident(node_->pid());
  }

  Table before_;
  std::uint64_t resident_ = 0;
};

}  // namespace baton::e2e
