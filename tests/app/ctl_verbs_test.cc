// batonctl as operators run it: the real program against a real gRPC server on a fake node.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "http/status_json.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

using runtime::AdminServer;
using runtime::NodeStatus;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class Batonctl3 : public testing::Test {
 protected:
  AdminServer server_{{"n1", "n2", "n3"}, 6};
};

TEST_F(Batonctl3, StatusShowsTheGroupAtAGlance) {
  server_.control.Freeze(true);
  const Ran ran = Batonctl(server_, {"status"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "group     orders: 6 shards, 3 live nodes\n"
            "health    healthy\n"
            "balance   running, balancer n1, 0 moves in flight\n"
            "revision  900 (view 0ms old)\n"
            "node      n1 0.1.0, session live, renewed 1.2s ago (lease 10.0s)\n"
            "\n"
            "NODE  STATE   LED  TARGET  WEIGHT  ZONE  ADDRESS\n"
            "n1    active    2       2       1  -     127.0.0.1:7401\n"
            "n2    active    2       2       1  -     127.0.0.1:7402\n"
            "n3    active    2       2       1  -     127.0.0.1:7403\n");
  EXPECT_EQ(ran.err,
            "batonctl: not asked whether their shards fail to activate or to stop, because they "
            "can't be reached "
            "from here, or refuse: n2, n3\n");
}

// A server that does not accept connections itself knows no users, so it names the address.
TEST_F(Batonctl3, WhoAmISaysWhoCallsAndWhatTheyMay) {
  const Ran ran = Batonctl(server_, {"whoami"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::MatchesRegex("ipv4:127.0.0.1:[0-9]+: admin\n"));
  EXPECT_THAT(Batonctl(server_, {"whoami", "-o", "json"}).out, HasSubstr("\"role\":\"admin\""));
}

// Plan: files that can't be used, an endpoint to which a token is not sent, and one to which it is.
// No message has it. (What nodes make of tokens: Tls.ATokenIsAsGoodAsACertificate.)
TEST_F(Batonctl3, ATokenIsSentOnlyWhereNobodyElseReadsIt) {
  char folder[] = "/tmp/baton-token-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/token";
  const auto ask = [&](const std::string& text, mode_t mode, const std::string& endpoint) {
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return RunProcess(
        {.arguments = {BATONCTL, "--endpoint", endpoint, "--token-file", path, "whoami"},
         .input = {},
         .watch = {}});
  };
  const std::string& here = server_.endpoint;
  for (const auto& [text, mode, endpoint, words] :
       {std::tuple("secret\n", 0644, here, "run chmod 600"),
        std::tuple("secret\n", 0660, here, "run chmod 600"),
        std::tuple("two words\n", 0600, here, "expected one line"),
        std::tuple("\n", 0600, here, "expected one line"),
        std::tuple("secret\n", 0600, std::string("192.0.2.1:7400"), "is sent by TLS (--tls-ca)")}) {
    const Ran ran = ask(text, mode, endpoint);
    EXPECT_EQ(ran.exit, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(words));
    EXPECT_THAT(ran.err, Not(HasSubstr("secret")));
  }
  for (const mode_t mode : {0600, 0640}) {
    // The server is that of a program that embeds a node, which does not look at tokens.
    const Ran sent = ask("secret\r\n", mode, here);
    EXPECT_EQ(sent.exit, 0) << sent.err;
  }
  unlink(path.c_str());
  const Ran missing = Batonctl(server_, {"whoami", "--token-file", path});
  EXPECT_EQ(missing.exit, 2) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr(path));
  rmdir(folder);
}

// The list is the document of HTTP's /v1/shards, byte for byte.
TEST_F(Batonctl3, ShardsListAsJsonIsTheDocumentOfHttp) {
  server_.control.Freeze(true);
  server_.control.Change([](NodeStatus& status) {
    status.shards.resize(2);
    status.shards[1].leader.clear();
    status.shards[1].address.clear();
    status.shards[1].term = Term{};
    status.shards[1].state = ShardState::kLeaderless;
  });
  const Ran ran = Batonctl(server_, {"shards", "list", "-o", "json"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            R"({"group":"orders","revision":900,"stale":false,"shards":[)"
            R"({"shard":0,"leader":"n1","address":"127.0.0.1:7401","term":800,"state":"led"},)"
            R"({"shard":1,"leader":null,"address":null,"term":0,"state":"leaderless"}]})"
            "\n");
  EXPECT_EQ(ran.out, http::ShardsJson(server_.control.Now()) + "\n");
}

TEST_F(Batonctl3, ShardsListAsYamlAndTables) {
  server_.control.Freeze(true);
  server_.control.Change([](NodeStatus& status) { status.shards.resize(1); });
  EXPECT_EQ(Batonctl(server_, {"-o", "yaml", "shards", "list"}).out,
            "group: orders\nrevision: 900\nstale: false\nshards:\n  - shard: 0\n    leader: n1\n"
            "    address: \"127.0.0.1:7401\"\n    term: 800\n    state: led\n");
  EXPECT_EQ(Batonctl(server_, {"shards", "list"}).out,
            "SHARD  LEADER  TERM  STATE\n    0  n1       800  led\n");
  EXPECT_EQ(Batonctl(server_, {"shards", "list", "-o", "wide"}).out,
            "SHARD  LEADER  TERM  STATE  ADDRESS         REASON   PREVIOUS  MOVE  FAILING\n"
            "    0  n1       800  led    127.0.0.1:7401  startup  -         -     -\n");
}

TEST_F(Batonctl3, DescribesAShardOrSaysThereIsNone) {
  const Ran ran = Batonctl(server_, {"shards", "describe", "5", "-o", "json"});
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.out, AllOf(HasSubstr(R"("shard":5,"leader":"n3")"), HasSubstr(R"("move":null)")));
  const Ran none = Batonctl(server_, {"shards", "describe", "6"});
  EXPECT_EQ(none.exit, 4);
  EXPECT_THAT(none.out, IsEmpty());
  EXPECT_THAT(none.err, HasSubstr("no shard 6"));
}

TEST_F(Batonctl3, LooksUpAKeysShard) {
  server_.control.Freeze(true);
  const Ran ran = Batonctl(server_, {"lookup", "order-4711", "-o", "json"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            R"({"group":"orders","revision":900,"stale":false,"age_ms":0,)"
            R"("shard":1,"leader":"n1","address":"127.0.0.1:7401","term":801,"state":"led",)"
            R"("standbys":[]})"
            "\n");
  EXPECT_THAT(Batonctl(server_, {"lookup", "order-4711"}).out, HasSubstr("led"));
  const Ran empty = Batonctl(server_, {"lookup", ""});
  EXPECT_EQ(empty.exit, 2);
  EXPECT_THAT(empty.err, HasSubstr("the key is empty"));
  server_.control.Change([](NodeStatus& status) { status.hash = HashFunction::kModulo; });
  EXPECT_EQ(Batonctl(server_, {"lookup", "order-4711"}).exit, 2);
  EXPECT_THAT(Batonctl(server_, {"lookup", "11", "-o", "json"}).out, HasSubstr(R"("shard":5)"));
}

TEST_F(Batonctl3, HealthFailsWhereAShardHasNoLeaderAndWaitSeesItHeal) {
  EXPECT_EQ(Batonctl(server_, {"health"}).exit, 0);
  const auto set_leader = [this](const std::string& leader) {
    server_.control.Change([&](NodeStatus& status) { status.shards[0].leader = leader; });
  };
  set_leader("");
  const Ran ill = Batonctl(server_, {"health"});
  EXPECT_EQ(ill.exit, 1);
  EXPECT_EQ(ill.out, "unhealthy: 1 shard without a leader\n");
  EXPECT_EQ(Batonctl(server_, {"health", "--wait", "--timeout", "300ms"}).exit, 5);
  RunOptions waiting = Ctl(server_.endpoint, {"health", "--wait"});
  waiting.watch = [&](const Ran& ran, pid_t) {
    if (!ran.err.empty()) set_leader("n1");
  };
  const Ran healed = RunProcess(waiting);
  EXPECT_EQ(healed.exit, 0) << healed.err;
  EXPECT_EQ(healed.out, "healthy\n");
  EXPECT_THAT(healed.err, HasSubstr("waiting: 1 shard without a leader"));
}

TEST_F(Batonctl3, TransferWaitsForTheNewLeader) {
  const Ran ran = Batonctl(server_, {"shards", "transfer", "0", "--to", "n3", "--if-term", "800"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("shard 0 moved from n1 to n3 (term 9"));
  EXPECT_EQ(server_.control.Now().shards[0].leader, "n3");
  EXPECT_THAT(server_.control.Transfers()[0].actor, HasSubstr("@"));
}

TEST_F(Batonctl3, TransferSaysWhyNot) {
  EXPECT_EQ(Batonctl(server_, {"shards", "transfer", "99", "--to", "n3"}).exit, 4);
  EXPECT_EQ(Batonctl(server_, {"shards", "transfer", "0", "--to", "nobody"}).exit, 4);
  const Ran moved_on =
      Batonctl(server_, {"shards", "transfer", "0", "--to", "n3", "--if-term", "1"});
  EXPECT_EQ(moved_on.exit, 6);
  EXPECT_EQ(moved_on.err, "batonctl: the term is 800\n");
  EXPECT_THAT(moved_on.out, IsEmpty());
}

// After a timeout batonctl says what was done by then; the move stays written.
TEST_F(Batonctl3, TransferTimesOutWhileTheMoveGoesOn) {
  server_.control.Freeze(true);
  const Ran ran =
      Batonctl(server_, {"shards", "transfer", "0", "--to", "n3", "--timeout", "600ms"});
  EXPECT_EQ(ran.exit, 5) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("goes on; by now: shard 0 from n1 to n3: planned"));
  EXPECT_TRUE(server_.control.Now().shards[0].move != nullptr);
}

TEST_F(Batonctl3, CtrlCEndsTheWatchingNotTheWork) {
  server_.control.Freeze(true);
  RunOptions options = Ctl(server_.endpoint, {"shards", "transfer", "0", "--to", "n3"});
  options.watch = [](const Ran& ran, pid_t pid) {
    if (ran.err.find("planned") != std::string::npos) kill(pid, SIGINT);
  };
  const Ran ran = RunProcess(options);
  EXPECT_EQ(ran.exit, 130) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("interrupted: the move of shard 0 from n1 to n3 goes on"));
  EXPECT_TRUE(server_.control.Now().shards[0].move != nullptr);
}

// Plan: a node that has no session yet, and a relay, which never has one.
TEST_F(Batonctl3, StatusSaysOnlyOfRenewalsThatTheyWere) {
  const auto as = [&](runtime::SessionPhase phase) {
    server_.control.Change([&](NodeStatus& status) {
      status.session = phase;
      status.renewal_age = std::chrono::nanoseconds(0);
    });
    return Batonctl(server_, {"status"}).out;
  };
  EXPECT_THAT(as(runtime::SessionPhase::kOpening),
              HasSubstr("node      n1 0.1.0, session opening, never renewed\n"));
  EXPECT_THAT(as(runtime::SessionPhase::kRelay), HasSubstr("node      n1 0.1.0, session relay\n"));
}

TEST_F(Batonctl3, DryRunsAndDetachReturnAtOnce) {
  server_.control.Freeze(true);
  const Ran dry = Batonctl(server_, {"shards", "transfer", "0", "--to", "n3", "--dry-run"});
  EXPECT_EQ(dry.out, "would move shard 0 from n1 to n3\n");
  EXPECT_FALSE(server_.control.Now().shards[0].move != nullptr);
  EXPECT_EQ(Batonctl(server_, {"nodes", "drain", "n1", "--dry-run"}).out,
            "would drain n1: 2 shards would move\n");
  EXPECT_FALSE(server_.control.Now().members[0].drained_by_policy);
  EXPECT_EQ(Batonctl(server_, {"pause", "--dry-run"}).out, "would pause balance\n");
  EXPECT_EQ(Batonctl(server_, {"resume", "--dry-run"}).out,
            "balance was not paused: nothing would change\n");
  EXPECT_FALSE(server_.control.Now().paused);
  const Ran detached =
      Batonctl(server_, {"shards", "transfer", "0", "--to", "n3", "--detach", "-o", "json"});
  EXPECT_EQ(detached.exit, 0);
  EXPECT_EQ(detached.out,
            R"({"result":"detached","message":"moving shard 0 from n1 to n3","shard":0,)"
            R"("from":"n1","to":"n3","ends_term":800})"
            "\n");
  EXPECT_TRUE(server_.control.Now().shards[0].move != nullptr);
}

TEST_F(Batonctl3, DrainWaitsUntilTheNodeLeadsNothingAndStandsUntilUndrain) {
  const Ran ran = Batonctl(server_, {"nodes", "drain", "n2"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "n2 is drained: it leads nothing, 2 shards moved\n");
  EXPECT_THAT(Batonctl(server_, {"nodes", "list"}).out, HasSubstr("n2    drained    0       0"));
  EXPECT_EQ(Batonctl(server_, {"nodes", "undrain", "n2"}).out,
            "n2 is no longer drained: balance gives it its share\n");
  EXPECT_FALSE(server_.control.Now().members[1].drained_by_policy);
  const Ran again = Batonctl(server_, {"nodes", "undrain", "n2"});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_EQ(again.out, "n2 was not drained: nothing changes\n");
  EXPECT_EQ(Batonctl(server_, {"nodes", "undrain", "n2", "--dry-run"}).out,
            "n2 was not drained: nothing would change\n");
}

TEST_F(Batonctl3, DrainOfAnUnknownNodeIsNotFound) {
  EXPECT_EQ(Batonctl(server_, {"nodes", "drain", "n9"}).exit, 4);
  EXPECT_EQ(Batonctl(server_, {"nodes", "drain", "n9", "--dry-run"}).exit, 4);
  EXPECT_EQ(Batonctl(server_, {"nodes", "undrain", "n9"}).exit, 4);
}

// Half of the shards moved before the time was up: partly applied.
TEST_F(Batonctl3, DrainThatTimesOutHalfwayIsPartlyApplied) {
  server_.control.FreezeAfterMoves(1);
  const Ran ran = Batonctl(server_, {"nodes", "drain", "n2", "--timeout", "1500ms"});
  EXPECT_EQ(ran.exit, 7) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the drain of n2 goes on; by now: n2 leads 1 of 2 shards"));
}

TEST(BatonctlAlone, DrainOfTheLastNodeSaysThatNobodyElseCan) {
  AdminServer server({"n1"}, 3);
  EXPECT_EQ(Batonctl(server, {"nodes", "drain", "n1", "--dry-run"}).exit, 6);
  const Ran ran = Batonctl(server, {"nodes", "drain", "n1"});
  EXPECT_EQ(ran.exit, 6);
  EXPECT_THAT(ran.err, HasSubstr("no other node can take n1's 3 shards"));
}

TEST_F(Batonctl3, RebalancePlansAppliesAndReportsItsEnd) {
  EXPECT_EQ(Batonctl(server_, {"rebalance", "apply"}).out, "balanced: nothing to move\n");
  server_.control.Change([](NodeStatus& status) {
    for (auto& shard : status.shards) shard.leader = "n1";
  });
  const Ran plan = Batonctl(server_, {"rebalance", "plan"});
  EXPECT_EQ(plan.exit, 0);
  EXPECT_THAT(plan.out,
              StartsWith("SHARD  FROM  TO  REASON     PHASE    CAUSE\n    0  n1    n2  rebalance"));
  EXPECT_EQ(plan.err, "batonctl: 4 moves\n");
  EXPECT_EQ(Batonctl(server_, {"rebalance", "apply", "--dry-run"}).out, "would do 4 moves\n");
  const Ran applied = Batonctl(server_, {"rebalance", "apply"});
  EXPECT_EQ(applied.exit, 0) << applied.err;
  EXPECT_EQ(applied.out, "balanced: 4 of 4 moves done\n");
  EXPECT_EQ(Batonctl(server_, {"rebalance", "status"}).out,
            "balance: running, balancer n1, 0 moves in flight\n");
  const Ran idle = Batonctl(server_, {"rebalance", "cancel"});
  EXPECT_EQ(idle.exit, 0) << idle.err;
  EXPECT_EQ(idle.out, "no rebalance was under way: nothing changes\n");
  EXPECT_EQ(Batonctl(server_, {"rebalance", "cancel", "--dry-run"}).out,
            "no rebalance was under way: nothing would change\n");
  server_.control.Freeze(true);
  server_.control.Change([](NodeStatus& status) { status.rebalance_requested = true; });
  EXPECT_EQ(Batonctl(server_, {"rebalance", "cancel"}).out,
            "the rebalance is cancelled: moves already prepared still end, and balance may plan "
            "the others again (batonctl pause stops that)\n");
}

// Plan: all that balance wants moves already, by an earlier apply, and does not come to its end. A
// second apply does not say that the group is balanced.
TEST_F(Batonctl3, RebalanceWaitsForMovesInFlight) {
  server_.control.Freeze(true);
  server_.control.Change([](NodeStatus& status) {
    MoveFact move{.shard = ShardId{0}, .revision = Revision{5}, .present = true};
    move.from = status.shards[0].leader;
    move.to = "n2";
    status.shards[0].move = std::make_shared<const MoveFact>(move);
  });
  EXPECT_EQ(Batonctl(server_, {"rebalance", "apply", "--dry-run"}).out,
            "nothing more to move than the 1 move in flight\n");
  const Ran ran = Batonctl(server_, {"rebalance", "apply", "--timeout", "1500ms"});
  EXPECT_EQ(ran.exit, 5) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("the rebalance goes on; by now: 0 of 1 move done, 1 in flight"));
}

TEST_F(Batonctl3, PauseAndResumeAreSeenByTheNode) {
  EXPECT_EQ(Batonctl(server_, {"pause"}).out, "balance is paused; failover goes on\n");
  EXPECT_TRUE(server_.control.Now().paused);
  EXPECT_THAT(Batonctl(server_, {"status"}).out, HasSubstr("balance   paused"));
  EXPECT_EQ(Batonctl(server_, {"pause", "-o", "json"}).out,
            R"({"result":"unchanged","message":"balance was paused already: nothing changes"})"
            "\n");
  EXPECT_EQ(Batonctl(server_, {"resume"}).out, "balance runs again\n");
  EXPECT_FALSE(server_.control.Now().paused);
  EXPECT_EQ(Batonctl(server_, {"resume", "-o", "json"}).out,
            R"({"result":"unchanged","message":"balance was not paused: nothing changes"})"
            "\n");
}

TEST(Batonctl, SaysWhenItCannotReachANode) {
  std::string endpoint;
  {
    AdminServer gone({"n1"}, 1);
    endpoint = gone.endpoint;
  }
  const Ran ran = RunProcess(Ctl(endpoint, {"status", "--timeout", "2s"}));
  EXPECT_EQ(ran.exit, 3);
  EXPECT_THAT(ran.err, HasSubstr("cannot reach " + endpoint));
  EXPECT_THAT(ran.out, IsEmpty());
}

// Plan: misspelt verbs, also below another verb, and misspelt flags; words that are near none;
// bytes that must not reach a terminal.
TEST(Batonctl, AnUnknownVerbOrFlagIsRefusedWithTheOneThatWasMeant) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"stauts"}, "there is no verb \"stauts\"; did you mean \"status\"? See batonctl"},
      {{"nodes", "drian", "n1"},
       "there is no verb \"nodes drian\"; did you mean \"drain\"? See batonctl nodes"},
      {{"recvoer"}, "there is no verb \"recvoer\"; did you mean \"recover\"? See batonctl"},
      {{"frobnicate"}, "there is no verb \"frobnicate\"; see batonctl"},
      {{"nodes", "drain", "n1", "--dryrun"},
       "unknown flag --dryrun; did you mean \"--dry-run\"? See batonctl nodes drain"},
      {{"status", "--timout=5s"},
       "unknown flag --timout; did you mean \"--timeout\"? See batonctl status"},
      {{"status", "--frobnicate"}, "unknown flag --frobnicate; see batonctl status"},
      {{"status", "--timeout=1s", "--timeout=2s"},
       "--timeout was given more than once; see batonctl status"},
      {{"x\033[2J\ny"}, "there is no verb \"x\\u001b[2J\\ny\"; see batonctl"}};
  for (const auto& [words, line] : table) {
    const Ran ran = RunProcess(Ctl("127.0.0.1:1", words));
    EXPECT_EQ(ran.exit, 2);
    EXPECT_EQ(ran.err, "batonctl: " + line + " --help\n");
  }
}

TEST(Batonctl, AnswersUsageErrorsWith2) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"frobnicate"},
                                                       {"recover"},
                                                       {"shards"},
                                                       {"shards", "describe", "x"},
                                                       {"shards", "transfer", "1"},
                                                       {"status", "-o", "xml"},
                                                       {"status", "--timeout", "fast"},
                                                       {"completion", "tcsh"},
                                                       {"plan"},
                                                       {"plan", "-f", "/nonexistent"},
                                                       {"top"}};
  for (const auto& words : wrong) {
    const Ran ran = RunProcess(Ctl("127.0.0.1:1", words));
    EXPECT_EQ(ran.exit, 2) << testing::PrintToString(words) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, StartsWith("batonctl: "));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  EXPECT_THAT(RunProcess(Ctl("somewhere", {"status"})).err,
              HasSubstr("\"somewhere\" is not an address; expected host:port"));
  EXPECT_EQ(RunProcess(Ctl("unix:/nonexistent", {"status", "--timeout", "2s"})).exit, 3);
  EXPECT_EQ(RunProcess(Ctl("127.0.0.1:1", {"--help"})).exit, 0);
}

TEST(Batonctl, PlansAMadeUpStateFromStdin) {
  RunOptions options = Ctl("127.0.0.1:1", {"plan", "-f", "-"});
  options.input = R"({"shards":2,"nodes":[{"id":"a"},{"id":"b"}],"leaders":{"0":"a","1":"a"}})";
  const Ran ran = RunProcess(options);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(R"("before":{"a":2},"after":{"a":1,"b":1})"));
  options.input = "{";
  EXPECT_EQ(RunProcess(options).exit, 2);
}

TEST(Batonctl, SaysItsVersion) {
  EXPECT_THAT(RunProcess(Ctl("127.0.0.1:1", {"version"})).out, StartsWith("batonctl "));
}

// A bash sources the script and then completes lines as it would for a user.
TEST(Batonctl, CompletesInBash) {
  const std::string script =
      std::string("source <(") + BATONCTL + " completion bash); complete_line() { " +
      "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _batonctl; echo \"${COMPREPLY[*]}\"; }; "
      "complete_line batonctl sh; complete_line batonctl -o json shards ''; "
      "complete_line batonctl nodes drain --d; complete_line batonctl status -o y";
  RunOptions options;
  options.arguments = {"bash", "--norc", "-c", script};
  const Ran ran = RunProcess(options);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "shards\nlist describe transfer retry release\n--dry-run --detach\nyaml\n");
  EXPECT_THAT(ran.err, IsEmpty());
}

}  // namespace
}  // namespace baton::app
