// Applications in other processes: `batond run`, and a member written in Python.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/authority.h"
#include "e2e/cluster.h"
#include "e2e/sidecar_runs.h"
#include "http/client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// A group on an etcd of the plain world whose nodes have certificates of the test's own.
class SidecarWithCertificates : public SidecarRuns {
 protected:
  ~SidecarWithCertificates() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// Puts the certificates of this authority where the node and its application read theirs.
  void Use(const Authority& authority) const {
    authority.Issue("node");
    authority.Issue("application");
    const auto put = [&](const std::string& from, const std::string& name) {
      std::filesystem::copy_file(from, folder_ + "/new");
      std::filesystem::rename(folder_ + "/new", folder_ + "/" + name);
    };
    put(authority.ca(), "ca.pem");
    for (const std::string name : {"node", "application"}) {
      put(authority.cert(name), name + ".pem");
      put(authority.key(name), name + ".key");
    }
  }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }

  const std::string folder_ = FreshFolder();
};

class SidecarRunsShortly : public SidecarRuns {
 protected:
  SidecarRunsShortly() : SidecarRuns(seconds(5)) {}
};

// Plan: two members in Python share the shards. One is killed: its batond exits with the shell's
// code for that, and the other leads all shards, long before a lease could run out.
TEST_F(SidecarRuns, PythonMembersShareAndTakeOver) {
  NodeProcess& first = RunPython("n1");
  RunPython("n2");
  cluster_.AwaitBalanced({"n1", "n2"});
  EXPECT_THAT(LookUp("customer-42"), HasSubstr("\"leader\": \"n"));
  const auto program = static_cast<pid_t>(std::stoi(Logged(first, "pid=")));
  ASSERT_EQ(kill(program, SIGKILL), 0);
  const auto exit = first.WaitExit();
  ASSERT_TRUE(exit.has_value()) << first.Log();
  EXPECT_EQ(exit->code, 128 + SIGKILL) << first.Log();
  cluster_.AwaitBalanced({"n2"}, seconds(20));
}

// Plan: a rule asks for one standby of each shard. The members say that they are ready, and
// batonctl shows that. n1's program is killed while no moves are planned: each of its shards goes
// to its own standby, and every survivor says why.
TEST_F(SidecarRuns, AReadyPythonMemberTakesOver) {
  NodeProcess& first = RunPython("n1");
  RunPython("n2");
  RunPython("n3");
  const std::set<int> shards = LedBy(cluster_.AwaitBalanced({"n1", "n2", "n3"}), "n1");
  ASSERT_EQ(cluster_.Ctl("n2", {"pause"}).exit, 0);
  const std::string rules = cluster_.folder() + "/rules.yaml";
  std::ofstream(rules) << "rules:\n  - standbys: 1\n";
  const app::Ran set = cluster_.Ctl("n2", {"placement", "set", rules});
  ASSERT_EQ(set.exit, 0) << set.err;
  std::map<int, std::string> standbys;
  for (const int shard : shards) {
    cluster_.Await("the shard has a ready standby", [&] {
      const app::Ran shown = cluster_.Ctl("n2", {"shards", "describe", std::to_string(shard)});
      return shown.exit == 0 && shown.out.find("ready") != std::string::npos &&
             shown.out.find("not ready") == std::string::npos;
    });
    standbys[shard] = StandbyOf(shard, {"n2", "n3"});
    EXPECT_NE(standbys[shard], "") << shard;
  }
  ASSERT_EQ(kill(static_cast<pid_t>(std::stoi(Logged(first, "pid="))), SIGKILL), 0);
  const auto took_over = [&](const Table& now) {
    return std::all_of(standbys.begin(), standbys.end(), [&](const auto& entry) {
      const auto shard = static_cast<std::size_t>(entry.first);  // no table: no node answered
      return shard < now.size() && now[shard].leader == entry.second;
    });
  };
  cluster_.Await("each of its shards is led by its standby", took_over, seconds(20));
  for (const char* node : {"n2", "n3"}) {
    for (const auto& [shard, standby] : standbys) {
      const app::Ran told = cluster_.Ctl(node, {"shards", "describe", std::to_string(shard)});
      EXPECT_NE(told.out.find("why " + standby + " leads: ready standby\n"), std::string::npos)
          << told.out;
    }
    const app::Ran history = cluster_.Ctl(node, {"history"});
    EXPECT_NE(history.out.find("  ready standby\n"), std::string::npos) << history.out;
  }
}

// Plan: n1's program hangs, but its connection to batond lives. The watchdog takes its shards, long
// before a lease could run out, and batond goes on. The program works again, and has its share.
TEST_F(SidecarRuns, AProgramThatHangsLosesItsShards) {
  const std::string hangs = cluster_.folder() + "/hangs";
  NodeProcess& first =
      Run("n1", {"/usr/bin/python3", HANGING_MEMBER, PYTHON_MEMBER, Python().back(), hangs},
          {"--watchdog", "3s"});
  cluster_.WaitReady(first);
  RunPython("n2");
  cluster_.AwaitBalanced({"n1", "n2"});
  std::ofstream(hangs).close();
  cluster_.AwaitBalanced({"n2"}, seconds(20));
  EXPECT_THAT(first.Log(),
              HasSubstr("the application is gone: it gave no sign of life for 3000 ms"));
  std::filesystem::remove(hangs);
  cluster_.AwaitBalanced({"n1", "n2"});
}

// Plan: n1 doesn't know its program's address, so it logs a warning, and its routes carry no
// address. n2 has --service-address: its routes carry that address, and it logs no warning.
TEST_F(SidecarRuns, RoutesCarryNoAddressUnlessItIsGiven) {
  const std::string warning = "routes carry no address";
  NodeProcess& without = RunPython("n1");
  EXPECT_EQ(Count(without.Log(), warning), 1u) << without.Log();
  NodeProcess& with = RunPython("n2", {"--service-address", "app.example:80"});
  EXPECT_EQ(Count(with.Log(), warning), 0u) << with.Log();
  cluster_.AwaitBalanced({"n1", "n2"});
  const std::string routes = cluster_.HttpBody("n2", "/v1/routes");
  EXPECT_EQ(Count(routes, "\"address\":null"), 6u) << routes;
  EXPECT_EQ(Count(routes, "\"address\":\"app.example:80\""), 6u) << routes;
}

// Plan: over TCP the kernel can't name the attached process, which may be another one than the
// program. The program ends, and batond still waits until the last deadline has passed.
TEST_F(SidecarRunsShortly, TheEndOfTheProgramIsNoProofOverTcp) {
  NodeProcess& first = RunPython("n1", {"--sidecar", "127.0.0.1:0"});
  cluster_.Start("n2");
  cluster_.AwaitBalanced({"n1", "n2"});
  ASSERT_EQ(kill(static_cast<pid_t>(std::stoi(Logged(first, "pid="))), SIGKILL), 0);
  cluster_.AwaitBalanced({"n2"}, seconds(20));
  EXPECT_THAT(first.Log(), HasSubstr("gone: the last deadline that it was sent has passed"));
}

// Plan: this user may not attach; the certificate of the Python member may. Connections last a
// second, so the member attaches again and again. Both sides get certificates of another authority,
// which are the only ones that count from then on. The member goes on in the same terms.
TEST_F(SidecarWithCertificates, ThePythonMemberGoesOnWhenAllOfThemAreReplaced) {
  if (TheWorld() != World::kPlain) GTEST_SKIP() << "it has TLS of its own";
  const Authority first;
  Use(first);
  std::ofstream(File("access.yaml")) << "rules:\n- {user: " << geteuid() << ", role: read}\n"
                                     << "- {certificate: \"cn:application\", role: lead}\n";
  NodeProcess& node = Run(
      "n1",
      Python({"--tls-ca", File("ca.pem"), "--tls-cert", File("application.pem"), "--tls-key",
              File("application.key")}),
      {"--sidecar", "127.0.0.1:0", "--access", File("access.yaml"), "--tls-cert", File("node.pem"),
       "--tls-key", File("node.key"), "--tls-client-ca", File("ca.pem"), "--tls-max-age", "1s"});
  const auto attached = [&] { return Count(node.Log(), "the application is attached again"); };
  const auto acquired = [&] { return Count(node.Log(), "\nacquired "); };
  cluster_.Await("the member leads all shards", [&] { return acquired() == 12; });
  const Authority second;
  Use(second);
  Logged(node, "the certificates of --tls-cert have changed in their files");
  const std::size_t before = attached();
  cluster_.Await("it attaches with the new ones", [&] { return attached() >= before + 2; });
  EXPECT_EQ(acquired(), 12u) << node.Log();
  EXPECT_EQ(Count(node.Log(), "\nlost "), 0u) << node.Log();
}

// Plan: mistakes of a user who tries the example: an HTTP address without a node, the gRPC address
// instead, a key that the group refuses, no stubs, an address without a sidecar. Each gives one
// line and an exit code.
TEST_F(SidecarRuns, ThePythonExampleSaysInOneLineWhatIsWrong) {
  NodeProcess& node = cluster_.Start("n1");
  const std::string http = "127.0.0.1:" + std::to_string(node.http_port());
  const auto says = [](std::vector<std::string> line, const std::vector<std::string>& words,
                       int exit, const std::string& what) {
    line.insert(line.end(), words.begin(), words.end());
    const app::Ran ran = app::RunProcess({.arguments = line, .input = "", .watch = {}});
    EXPECT_EQ(ran.exit, exit) << ran.err;
    EXPECT_THAT(ran.err, testing::StartsWith("member.py: "));
    EXPECT_THAT(ran.err, HasSubstr(what));
    EXPECT_EQ(Count(ran.err, "\n"), 1u) << ran.err;
  };
  says(Python(), {"--lookup", "k", "--http", "127.0.0.1:1"}, 3, "127.0.0.1:1: ");
  says(Python(), {"--lookup", "k", "--http", node.endpoint()}, 3, "is it a node's gRPC address?");
  says(Python(), {"--lookup", "", "--http", http}, 1, "answered 400");
  says({"/usr/bin/python3", PYTHON_MEMBER}, {"--sidecar", "127.0.0.1:1"}, 1, "generate.sh");
  says(Python(), {"--sidecar", node.endpoint()}, 1, "refuses this member: UNIMPLEMENTED");
  says(Python(), {"--sidecar", "127.0.0.1:1", "--tls-ca", "/no/ca.pem"}, 1, "/no/ca.pem");
  says(Python(), {"--sidecar", "127.0.0.1:1", "--tls-cert", "c.pem"}, 1, "needs --tls-ca");
}

// Plan: a member was given the socket's path, and batond is killed. The member says so, once for
// each reason (the stream that broke, and that nobody listens), and attaches again when another
// batond serves there.
TEST_F(SidecarRunsShortly, ThePythonExampleSaysOnceThatBatondIsGone) {
  const std::string address = "unix:" + cluster_.folder() + "/n1.sock";
  NodeProcess* node = &cluster_.Launch("n1", {"--sidecar", address});
  std::vector<std::string> line = Python();
  line.insert(line.end(), {"--sidecar", address});
  enum { kBefore, kKilled, kBack } phase = kBefore;
  const app::Ran ran = app::RunProcess(
      {.arguments = line, .input = "", .watch = [&](const app::Ran& said, pid_t pid) {
         if (phase == kBefore && Count(said.out, "acquired ") == 12) {
           node->Kill();
           phase = kKilled;
         } else if (phase == kKilled && said.err.find("not connected") != std::string::npos) {
           node = &cluster_.Launch("n1", {"--sidecar", address});
           phase = kBack;
         } else if (phase == kBack && Count(said.out, "acquired ") == 24) {
           kill(pid, SIGTERM);
         }
       }});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  std::set<std::string> said;
  std::istringstream lines(ran.err);
  for (std::string each; std::getline(lines, each);) {
    if (each.find("batond is not connected") == std::string::npos) continue;
    EXPECT_TRUE(said.insert(each).second) << each;
    EXPECT_THAT(each, HasSubstr("; trying again"));
  }
  EXPECT_FALSE(said.empty());
}

// Plan: a shared guard watches n1's state directory, and n1's batond is killed. The guard sees that
// another process acts for n1, and leaves the session alone: the lease decides.
TEST_F(SidecarRunsShortly, ASharedGuardLeavesAKilledBatondToTheLease) {
  NodeProcess& first = RunPython("n1", {"--guard", "shared"});
  RunPython("n2");
  cluster_.AwaitBalanced({"n1", "n2"});
  const std::string log = cluster_.folder() + "/guard.log";
  std::vector<std::string> line = {BATON_GUARD, "--etcd", SharedEtcd().endpoints().front(),
                                   "--state-dir", cluster_.StateDir("n1")};
  for (const std::string& word : EtcdFlags()) line.push_back(word);
  auto guard = Subprocess::Start({.arguments = line, .output_path = log});
  ASSERT_TRUE(guard.ok()) << guard.error().message;
  const auto said = [&] {
    std::ifstream file(log);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  first.Kill();
  cluster_.Await("the guard has seen the death", [&] {
    return said().find("nothing is ended: another process acts for the node") != std::string::npos;
  });
  cluster_.AwaitBalanced({"n2"});
  EXPECT_EQ(cluster_.Metric("n2", "baton_transitions_total{reason=\"process_died\"}"), 0);
  EXPECT_EQ(Count(said(), "\n"), 1u) << said();
}

// Plan: at SIGTERM batond asks the program to release each of its shards, and the other node gets
// them. Only then the program gets the signal. Its exit code becomes that of batond.
TEST_F(SidecarRuns, HandsOverBeforeItPassesTheSignalOn) {
  NodeProcess& first = RunPython("n1");
  cluster_.AwaitBalanced({"n1"});
  cluster_.Start("n2", {"--rebalance-delay", "10m"});
  first.Signal(SIGTERM);
  const auto exit = first.WaitExit();
  ASSERT_TRUE(exit.has_value()) << first.Log();
  EXPECT_EQ(exit->code, 0) << first.Log();
  EXPECT_EQ(Count(first.Log(), "releasing "), 12u) << first.Log();
  EXPECT_THAT(first.Log(), HasSubstr("drained"));
  cluster_.AwaitBalanced({"n2"}, seconds(20));
}

// Plan: the program never attaches. The node leads nothing and says why it is not ready. Other
// signals reach the program, and batond exits with its code.
TEST_F(SidecarRuns, ProgramsThatNeverAttachLeadNothing) {
  NodeProcess& node =
      Run("n1", {"/bin/sh", "-c", "trap 'exit 9' USR1; echo up; while :; do sleep 0.1; done"});
  Logged(node, "pid=");
  const std::string http = Logged(node, "http=127.0.0.1:");
  const auto port = static_cast<std::uint16_t>(std::stoi(http));
  cluster_.Await("the reason is told", [&] {
    return http::BodyOf(http::Get(port, "/readyz")).find("no application is attached") !=
           std::string::npos;
  });
  EXPECT_THAT(http::BodyOf(http::Get(port, "/metrics")),
              HasSubstr("baton_sidecar_bounds_reached_total{group="));
  cluster_.Await("the program is up", [&] { return node.Log().find("up\n") != std::string::npos; });
  node.Signal(SIGUSR1);
  const auto exit = node.WaitExit();
  ASSERT_TRUE(exit.has_value()) << node.Log();
  EXPECT_EQ(exit->code, 9) << node.Log();
}

// Plan: a second process of the same node starts with the same socket while a program is attached
// to the first. It is refused because of the node's lock, before it touches the socket. The socket
// stays with the first process, and only its owner may use it.
TEST_F(SidecarRuns, ASecondProcessOfANodeLeavesTheFirstOnesSocketAlone) {
  const std::string path = cluster_.folder() + "/n1.sock";
  RunPython("n1", {"--sidecar", "unix:" + path});
  cluster_.AwaitBalanced({"n1"});
  NodeProcess& twin = cluster_.LaunchTwin("n1", {"--sidecar", "unix:" + path});
  const auto exit = twin.WaitExit();
  ASSERT_TRUE(exit.has_value()) << twin.Log();
  EXPECT_EQ(exit->code, 1) << twin.Log();
  EXPECT_THAT(twin.Log(), HasSubstr("is locked by a living process"));
  EXPECT_THAT(twin.Log(), testing::Not(HasSubstr("can't serve the sidecar")));
  struct stat socket {};
  ASSERT_EQ(stat(path.c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode, S_IFSOCK | S_IRUSR | S_IWUSR);
}

// Plan: the program lists its descriptors. No socket is among them: by one of batond's it could
// take callers of batond, or keep batond's port.
TEST_F(SidecarRuns, ProgramsInheritNoSocket) {
  NodeProcess& node = Run("n1", {"/bin/sh", "-c",
                                 "for one in /proc/$$/fd/*; do echo has=$(readlink $one); done; "
                                 "echo listed=yes; exec sleep 60"});
  EXPECT_EQ(Logged(node, "listed="), "yes");
  EXPECT_THAT(node.Log(), HasSubstr("has=/dev/null"));
  EXPECT_THAT(node.Log(), testing::Not(HasSubstr("has=socket:")));
}

// Plan: programs that end by themselves, and one that does not exist.
TEST_F(SidecarRuns, TheProgramsCodeIsBatonds) {
  const auto code = [&](const std::string& id, const std::vector<std::string>& program) {
    NodeProcess& node = Run(id, program);
    const auto exit = node.WaitExit();
    EXPECT_TRUE(exit.has_value()) << node.Log();
    return exit ? exit->code : -1;
  };
  EXPECT_EQ(code("n1", {"/bin/sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(code("n2", {"/bin/sh", "-c", "kill -HUP $$"}), 128 + SIGHUP);
  EXPECT_EQ(code("n3", {"/no/such/program"}), 1);
  EXPECT_THAT(cluster_.node("n3").Log(), HasSubstr("'/no/such/program' is no program"));
}

}  // namespace
}  // namespace baton::e2e
