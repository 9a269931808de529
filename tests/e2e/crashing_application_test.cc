// An application at a sidecar that crashes again and again, beside nodes that work.
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/sidecar_runs.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;

/// Starts an application, and again each time that it has ended, on a thread of its own.
class Restarts {
 public:
  explicit Restarts(std::vector<std::string> line)
      : line_(std::move(line)), thread_([this] { Run(); }) {}
  ~Restarts() {
    stopping_ = true;
    thread_.join();
  }
  Restarts(const Restarts&) = delete;
  Restarts& operator=(const Restarts&) = delete;

  /// How long each process lived that has crashed, in their order.
  std::vector<Duration> lives() const {
    const std::lock_guard lock(mutex_);
    return lives_;
  }

 private:
  void Run() {
    while (!stopping_) {
      const TimePoint began = BootClock::now();
      auto process = Subprocess::Start(
          {.arguments = line_, .lifetime = ChildLifetime::kDiesWithStartingThread});
      if (!process) {
        ADD_FAILURE() << process.error().message;
        return;
      }
      std::optional<ExitStatus> ended;
      while (!ended && !stopping_) {
        ended = process.value()->Wait(BootClock::now() + std::chrono::milliseconds(100));
      }
      if (!ended) continue;  // the test is over
      if (ended->signal != SIGKILL) {
        ADD_FAILURE() << "it ended otherwise, with exit code " << ended->code;
        return;
      }
      const std::lock_guard lock(mutex_);
      lives_.push_back(BootClock::now() - began);
    }
  }

  const std::vector<std::string> line_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // guards lives_
  std::vector<Duration> lives_;
  std::thread thread_;
};

// The settle time and the delay of balance are longer than the time between two crashes: if the
// crashes counted, nothing would be claimed or moved while they go on. One shard at a time is moved
// to the application, so each crash counts against one shard, and enough of them stay harmless.
const std::vector<std::string> kFlags = {"--settle",    "5s", "--rebalance-delay", "1s",
                                         "--max-moves", "1",  "--expect-nodes",    "2"};

class CrashingApplication : public SidecarRuns {
 protected:
  static void SetUpTestSuite() {}  // it needs no stubs for Python

  /// n1 and n2 lead all shards. n3 has a sidecar, at which no application is attached.
  void Up() {
    for (const char* id : {"n1", "n2"}) cluster_.Launch(id, kFlags);
    for (const char* id : {"n1", "n2"}) cluster_.WaitReady(cluster_.node(id));
    std::vector<std::string> flags = kFlags;
    flags.insert(flags.end(), {"--sidecar", address_});
    Logged(cluster_.Launch("n3", flags), "sidecar=");
    cluster_.AwaitBalanced({"n1", "n2"});
  }

  const std::string address_ = "unix:" + cluster_.folder() + "/n3.sock";
};

// Plan: n3's application crashes half a second after it was attached, again and again, until the
// others know that n3 comes and goes. n1 is killed: n2 leads all shards. n1 starts again, and gets
// half of them. n3 gets none. All this time the application goes on to crash: if that held up the
// others, neither would happen.
TEST_F(CrashingApplication, HoldsUpNobody) {
  Up();
  const Restarts application({CRASHING_APPLICATION, address_, "500"});
  cluster_.AwaitLogged("n2", "node n3 comes and goes: when it is back it gets no shards for 20 s");
  cluster_.node("n1").Kill();
  cluster_.AwaitBalanced({"n2"});
  cluster_.Start("n1", kFlags);
  cluster_.AwaitBalanced({"n1", "n2"});
  const std::size_t before = application.lives().size();
  cluster_.Await("it crashes again", [&] { return application.lives().size() > before; });
}

// Plan: n3's application crashes as soon as it leads a shard, five times. From the third time on it
// must stay for longer before it gets one: 5 s, then 10 s. What it led is led by the others.
TEST_F(CrashingApplication, WaitsLongerForItsShardsEachTime) {
  Up();
  const Restarts application({CRASHING_APPLICATION, address_});
  cluster_.Await(
      "it has crashed five times", [&] { return application.lives().size() >= 5; }, seconds(120));
  const std::vector<Duration> lives = application.lives();
  EXPECT_GE(lives[3], seconds(5));
  EXPECT_GE(lives[4], seconds(10));
  cluster_.AwaitBalanced({"n1", "n2"});
}

}  // namespace
}  // namespace baton::e2e
