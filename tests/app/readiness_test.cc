// batond tells gRPC's health service, scripts and the service manager of its readiness.
#include "app/daemon/readiness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "base/owned_descriptor.h"
#include "http/fake_control.h"

namespace baton::app {
namespace {

using namespace std::chrono_literals;

class FakeHealth : public grpc::HealthCheckServiceInterface {
 public:
  void SetServingStatus(const std::string&, bool) override {}
  void SetServingStatus(bool serving) override { said += serving ? "serving " : "not "; }
  std::string said;
};

/// A service manager that reads what comes, and a folder.
class ReadinessTest : public testing::Test {
 protected:
  ReadinessTest()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("readiness-{}", getpid())),
        socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    std::filesystem::create_directory(folder_);
    const std::string path = folder_ / "notify";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    setenv("WATCHDOG_USEC", "2000000", 1);
  }
  ~ReadinessTest() override { std::filesystem::remove_all(folder_); }

  /// All that came, with a bar between datagrams.
  std::string Told() const {
    std::string all;
    std::array<char, 512> text{};
    ssize_t size = 0;
    while ((size = recv(socket_.get(), text.data(), text.size(), 0)) > 0) {
      all += std::string(text.data(), static_cast<std::size_t>(size)) + "|";
    }
    return all;
  }
  std::string ReadyFile() const { return folder_ / "ready"; }

  const std::filesystem::path folder_;
  const OwnedDescriptor socket_;
};

const ReadyContent kServed{
    .node = "n1", .grpc = "127.0.0.1:7400", .http = "127.0.0.1:7401", .pid = 42};
constexpr TimePoint kStart = TimePoint{} + 1h;

// The start is over with the first time that the node is ready. If it isn't later, words say so,
// and the file stays.
TEST_F(ReadinessTest, TellsOfTheFirstTimeAndOfEachChange) {
  FakeHealth health;
  http::FakeControl control;
  control.alive = false;
  control.ready = false;
  Readiness readiness(ReadyFile());
  readiness.Serve({&health}, kServed);
  readiness.Look(control, kStart);
  readiness.Look(control, kStart);
  const std::string where = ": gRPC 127.0.0.1:7400, HTTP 127.0.0.1:7401\n|";
  EXPECT_EQ(Told(), "STATUS=not ready, see /readyz and batonctl doctor" + where);
  EXPECT_FALSE(std::filesystem::exists(ReadyFile()));

  control.ready = true;
  readiness.Look(control, kStart);
  readiness.Look(control, kStart);
  EXPECT_EQ(Told(), "READY=1\nSTATUS=ready" + where);
  EXPECT_TRUE(std::filesystem::exists(ReadyFile()));

  control.ready = false;
  readiness.Look(control, kStart);
  EXPECT_EQ(Told(), "READY=1\nSTATUS=not ready, see /readyz and batonctl doctor" + where);
  EXPECT_TRUE(std::filesystem::exists(ReadyFile()));
  EXPECT_EQ(health.said, "serving not ");
}

// The time to leave goes by the node's own timeouts, whatever the service manager's are.
TEST_F(ReadinessTest, TellsHowLongTheEndMayTake) {
  FakeHealth health;
  http::FakeControl control;
  Readiness readiness(ReadyFile());
  readiness.Serve({&health}, kServed);
  readiness.Look(control, kStart);
  Told();
  readiness.Leave(71s);
  EXPECT_EQ(Told(), "STOPPING=1\nSTATUS=leaving\nEXTEND_TIMEOUT_USEC=71000000\n|");
  EXPECT_FALSE(std::filesystem::exists(ReadyFile()));
  EXPECT_EQ(health.said, "serving not ");
}

// Plan: a folder that is not empty has the temporary file's name, so the second write fails. The
// first one's file is still this object's to remove.
TEST_F(ReadinessTest, AReadyFileThatCouldNotBeWrittenAgainIsRemoved) {
  app::ReadyFile file(ReadyFile());
  ASSERT_TRUE(file.Write(kServed));
  std::filesystem::create_directories(ReadyFile() + ".42/in the way");
  EXPECT_FALSE(file.Write(kServed));
  EXPECT_TRUE(std::filesystem::exists(ReadyFile()));
  file.Remove();
  EXPECT_FALSE(std::filesystem::exists(ReadyFile()));
}

// The loop decides, not the thread that says so: if it stands still, nothing is said.
TEST_F(ReadinessTest, GivesASignOfLifeOnlyWhileTheLoopTurns) {
  FakeHealth health;
  http::FakeControl control;
  Readiness readiness("");
  readiness.Serve({&health}, kServed);
  readiness.Look(control, kStart);
  Told();
  readiness.Look(control, kStart + 1s);
  EXPECT_EQ(Told(), "WATCHDOG=1|");
  control.alive = false;
  readiness.Look(control, kStart + 2s);
  readiness.Look(control, kStart + 4s);
  EXPECT_EQ(Told(), "");
}

}  // namespace
}  // namespace baton::app
