// Subprocess and PrivateEtcd, on which the contract tests, the demo and the benches rely.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/subprocess.h"
#include "gtest/gtest.h"
#include "lab/private_etcd.h"

namespace baton::etcd {
namespace {

namespace fs = std::filesystem;

TimePoint In(std::chrono::seconds bound) { return BootClock::now() + bound; }

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Plan: a shell that prints a variable we set and ends with 7; compare output and status.
TEST(Subprocess, PassesEnvironmentAndOutputAndTellsTheExitCode) {
  const std::string output = testing::TempDir() + "/subprocess_output_" +
                             std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                             "_" + std::to_string(getpid());
  auto process =
      Subprocess::Start({.arguments = {"sh", "-c", "echo $GREETING; echo err >&2; exit 7"},
                         .environment = {"GREETING=hello"},
                         .output_path = output});
  ASSERT_TRUE(process.ok());
  const auto status = process.value()->Wait(In(std::chrono::seconds(20)));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 7);
  EXPECT_EQ(ToString(*status), "exit code 7");
  EXPECT_EQ(Content(output), "hello\nerr\n");
  fs::remove(output);
}

// Plan: start a program that would run for long, then destroy the object: the process is gone.
TEST(Subprocess, EndsWithItsObject) {
  pid_t pid = 0;
  {
    auto process = Subprocess::Start({.arguments = {"sleep", "1000"}});
    ASSERT_TRUE(process.ok());
    pid = process.value()->pid();
    EXPECT_FALSE(process.value()->Poll().has_value());
    EXPECT_FALSE(process.value()->Wait(BootClock::now()).has_value());
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

// Plan: a stopped child stands still at once and has not ended. Kill still ends it, and its status
// names the signal.
TEST(Subprocess, KillsAFrozenChild) {
  auto process = Subprocess::Start({.arguments = {"sleep", "1000"}});
  ASSERT_TRUE(process.ok());
  EXPECT_TRUE(process.value()->Freeze());
  std::ifstream stat("/proc/" + std::to_string(process.value()->pid()) + "/stat");
  std::string id, name, state;
  stat >> id >> name >> state;
  EXPECT_EQ(state, "T");
  EXPECT_FALSE(process.value()->Poll().has_value());
  EXPECT_EQ(ToString(process.value()->Kill()), "signal 9");
}

TEST(Subprocess, NamesAProgramThatIsMissing) {
  const auto process = Subprocess::Start({.arguments = {"no-such-program-anywhere"}});
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(process.error().message,
            "no program 'no-such-program-anywhere' on PATH: install it or give its path");
  EXPECT_EQ(Subprocess::Start({.arguments = {"/no/such/program"}}).error().message,
            "'/no/such/program' is no program that can be run");
}

// Plan: run a program beyond its deadline.
TEST(Subprocess, KillsWhatExceedsItsDeadline) {
  const auto status = RunProgram({.arguments = {"sleep", "1000"}}, BootClock::now());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kTimedOut);
}

// Plan: ten values, two of them above 0.256 and up to 0.512; then only zeros.
TEST(PrivateEtcd, TellsHowSlowItsDiskWas) {
  const std::string text =
      "# TYPE sync_seconds histogram\n"
      "sync_seconds_bucket{le=\"0.001\"} 3\n"
      "sync_seconds_bucket{le=\"0.256\"} 8\n"
      "sync_seconds_bucket{le=\"0.512\"} 10\n"
      "sync_seconds_bucket{le=\"+Inf\"} 10\n"
      "sync_seconds_sum 1.5\n"
      "sync_seconds_count 10\n";
  EXPECT_EQ(lab::GreatestExceeded(text, "sync_seconds"), 0.256);
  EXPECT_EQ(lab::GreatestExceeded(text, "another"), 0);
}

// Plan: three members; freeze, resume, kill and restart one; the folder goes with the object.
TEST(PrivateEtcd, RunsFreezesKillsAndRestartsMembers) {
  std::string folder;
  {
    auto started = lab::PrivateEtcd::Start({.members = 3});
    ASSERT_TRUE(started.ok()) << started.error().message;
    lab::PrivateEtcd& etcd = *started.value();
    folder = etcd.folder();
    EXPECT_EQ(etcd.endpoints().size(), 3u);
    EXPECT_TRUE(etcd.Leader().has_value());

    etcd.Pause(1);
    EXPECT_FALSE(etcd.Healthy(1));
    // The other members may have to elect a leader first.
    const auto serves = [&etcd] { return etcd.Healthy(0) || etcd.Healthy(2); };
    const TimePoint patience = In(std::chrono::seconds(30));
    bool served = serves();
    while (!served && BootClock::now() < patience) served = serves();
    EXPECT_TRUE(served);
    etcd.Resume(1);
    const auto endpoints = etcd.endpoints();
    etcd.Kill(1);
    EXPECT_FALSE(etcd.Healthy(1));
    const auto restarted = etcd.Restart(1);
    EXPECT_TRUE(restarted.ok()) << restarted.error().message;
    EXPECT_EQ(etcd.endpoints(), endpoints);
    EXPECT_TRUE(fs::exists(etcd.log_path(1)));
    etcd.Pause(2);
  }
  EXPECT_FALSE(fs::exists(folder));
}

// Plan: a program that says on one port that it is healthy, and listens on the other without
// reading. Clients that connected then would give up waiting for the first frame, as etcd 3.6 on a
// busy machine showed.
TEST(PrivateEtcd, WaitsUntilTheClientsPortIsServed) {
  const fs::path program = fs::temp_directory_path() / fmt::format("healthy-{}", getpid());
  std::ofstream(program) << R"(#!/usr/bin/python3
import http.server, socket, sys
ports = {flag: int(url.rpartition(":")[2]) for flag, _, url in (word.partition("=") for word in sys.argv) if "-urls" in flag}
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"health":"true"}')
if ports:
    clients = socket.create_server(("127.0.0.1", ports["--listen-client-urls"]))
    http.server.HTTPServer(("127.0.0.1", ports["--listen-metrics-urls"]), Health).serve_forever()
)";
  fs::permissions(program, fs::perms::owner_all);
  const auto started = lab::PrivateEtcd::Start(
      {.program = program, .start_timeout = std::chrono::milliseconds(2000)});
  fs::remove(program);
  ASSERT_FALSE(started.ok());
  const std::string& message = started.error().message;
  EXPECT_NE(message.find("m0 was not healthy in time"), std::string::npos) << message;
  fs::remove_all(message.substr(message.rfind(' ') + 1));
}

// Plan: give an argument that etcd refuses: the error names the logs, which stay.
TEST(PrivateEtcd, LeavesTheLogsWhereItCannotStart) {
  const auto started = lab::PrivateEtcd::Start({.arguments = {"--no-such-flag"}});
  ASSERT_FALSE(started.ok());
  const std::string& message = started.error().message;
  EXPECT_NE(message.find("ended with exit code"), std::string::npos) << message;
  const std::string folder = message.substr(message.rfind(' ') + 1);
  EXPECT_NE(Content(folder + "/m0.log").find("no-such-flag"), std::string::npos);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace baton::etcd
