// batonctl about what only some nodes know, above all shards that fail to activate: the real
// program against two fake nodes of a group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

using runtime::AdminServer;
using runtime::NodeStatus;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class BatonctlFailing : public testing::Test {
 protected:
  BatonctlFailing() {
    other_.control.Change([](NodeStatus& status) {
      for (std::size_t i = 0; i < 2; ++i) status.shards[i].leader = "n1";
      for (std::size_t i = 2; i < 4; ++i) status.shards[i].leader = "n2";
    });
    server_.control.Change([this](NodeStatus& status) {
      status.members[1].fact.address = other_.endpoint;
      status.members[2].fact.address.clear();  // n3 serves no operators
    });
    for (AdminServer* server : {&server_, &other_}) server->control.Freeze(true);
  }

  AdminServer server_{{"n1", "n2", "n3"}, 6};
  AdminServer other_{{"n2", "n1", "n3"}, 6};
};

// Plan: shard 0 fails on the node asked, shard 2 more often on n2. Only n2 knows of its own.
TEST_F(BatonctlFailing, StatusSaysHowManyAndNamesTheWorstOfAllNodes) {
  server_.control.FailActivation(ShardId{0}, 3, "disk");
  Ran ran = Batonctl(server_, {"status"});
  EXPECT_THAT(ran.out,
              HasSubstr("failing   1 shard fails to activate; shard 0 on n1, 3 attempts in "
                        "1m35s, last error: disk\n"));
  EXPECT_THAT(ran.out, HasSubstr("health    unhealthy: 1 shard failing to activate\n"));
  EXPECT_THAT(ran.err, IsEmpty());
  other_.control.FailActivation(ShardId{2}, 12, "no such table");
  ran = Batonctl(server_, {"status"});
  EXPECT_THAT(ran.out, HasSubstr("failing   2 shards fail to activate; worst: shard 2 on n2, 12 "
                                 "attempts in 1m35s, last error: no such table\n"));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out,
              HasSubstr(R"("failing":1,"failing_shards":[{"shard":0,"leader":"n1","failing":)"
                        R"({"attempts":3,"lasted_ms":95000,"last_error":"disk"}}])"));
  const Ran health = Batonctl(server_, {"health"});
  EXPECT_EQ(health.exit, 1);
  EXPECT_EQ(health.out, "unhealthy: 1 shard failing to activate\n");
}

// Plan: n3 says that activations fail on it; n1 has shards that it has not tried for that reason.
TEST_F(BatonctlFailing, UntriedShardsAndFailingNodesAreShown) {
  server_.control.FailActivation(ShardId{0}, 3, "disk");
  server_.control.Change([](NodeStatus& status) {
    status.untried = 7;
    status.members[2].fact.failing = true;
  });
  EXPECT_THAT(
      Batonctl(server_, {"status"}).out,
      AllOf(HasSubstr("1 shard fails to activate; 7 more wait for their first try; shard 0"),
            HasSubstr("failing to activate, 7 shards not tried yet")));
  EXPECT_THAT(Batonctl(server_, {"nodes", "list"}).out, testing::ContainsRegex("n3 +failing "));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out, HasSubstr(R"("untried":7)"));
  EXPECT_THAT(Batonctl(server_, {"nodes", "list", "-o", "json"}).out,
              HasSubstr(R"("failing":true)"));
}

// Plan: two nodes gave shards up whose callbacks still run. Each knows only of its own.
TEST_F(BatonctlFailing, ShardsThatWereGivenUpAndDontStopAreNamed) {
  other_.control.Change([](NodeStatus& status) {
    status.stopping = 1;
    status.longest_stopping = {{ShardId{4}, std::chrono::seconds(95)}};
  });
  EXPECT_THAT(Batonctl(server_, {"status"}).out,
              HasSubstr("stopping  1 shard was given up, but callbacks have not returned; shard 4 "
                        "on n2 for 1m35s\n"));
  server_.control.Change([](NodeStatus& status) {
    status.stopping = 200;
    status.longest_stopping = {{ShardId{3}, std::chrono::seconds(7)},
                               {ShardId{5}, std::chrono::seconds(6)}};
  });
  const Ran ran = Batonctl(server_, {"status"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("health    healthy\n"),
                             HasSubstr("201 shards were given up, but callbacks have not returned; "
                                       "the longest of each node: shard 4 on n2 for 1m35s, shard 3 "
                                       "on n1 for 7.0s\n")));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out,
              HasSubstr(R"("stopping":200,"stopping_shards":[{"shard":3,"lasted_ms":7000},)"
                        R"({"shard":5,"lasted_ms":6000}])"));
}

// Plan: n1, which is asked, has started lately. n2 saw two nodes leave long before, one of which is
// a member now, and saw how a third one left, which n1 missed. Of n4 each saw another session end.
// `status` says what both know; JSON and `nodes list`, which ask one node, what n1 knows.
TEST_F(BatonctlFailing, StatusNamesThoseWhoLeftBeforeTheNodeAskedStarted) {
  using std::chrono::minutes;
  other_.control.Change([](NodeStatus& status) {
    status.departed = {{.node = "n4", .session = SessionId{40}, .age = minutes(8), .led = 9},
                       {.node = "n5",
                        .session = SessionId{50},
                        .age = minutes(9),
                        .why = Reason::kProcessDied,
                        .led = 2},
                       {.node = "n6", .session = SessionId{60}, .age = minutes(30), .led = 1},
                       {.node = "n3", .session = SessionId{30}, .age = minutes(40)},
                       {.node = "n7", .session = SessionId{70}, .age = minutes(50), .back = true}};
  });
  server_.control.Change([](NodeStatus& status) {
    status.departed = {{.node = "n4", .session = SessionId{41}, .age = minutes(5), .led = 3},
                       {.node = "n5", .session = SessionId{50}, .age = minutes(9)},
                       {.node = "n7", .session = SessionId{70}, .age = minutes(50)}};
  });
  const std::string status = Batonctl(server_, {"status"}).out;
  EXPECT_THAT(status, HasSubstr("gone      n4, reason unknown 5m0s ago, led 3 shards\n"
                                "gone      n5, process_died 9m0s ago, led 2 shards\n"
                                "gone      n6, reason unknown 30m0s ago, led 1 shard\n"
                                "balance "));
  EXPECT_THAT(status, testing::ContainsRegex("n6 +gone .*reason unknown 30m0s ago\n"));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out, Not(HasSubstr("n6")));
  EXPECT_THAT(Batonctl(server_, {"nodes", "list"}).out, Not(HasSubstr("n6")));
}

// Plan: the node asked leads another shard; n2, which leads this one, is asked for it.
TEST_F(BatonctlFailing, DescribeAsksTheLeader) {
  other_.control.FailActivation(ShardId{2}, 12, "no such table");
  EXPECT_THAT(
      Batonctl(server_, {"shards", "describe", "2"}).out,
      AllOf(HasSubstr("activating"), HasSubstr("12 attempts in 1m35s, last error: no such table")));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "2", "-o", "json"}).out,
              HasSubstr(R"("failing":{"attempts":12,"lasted_ms":95000,)"
                        R"("last_error":"no such table"})"));
  other_.control.Change([](NodeStatus& status) { status.shards[2].term = Term{999}; });
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "2", "-o", "json"}).out,
              HasSubstr(R"("failing":null)"));  // it speaks of another leadership
}

TEST_F(BatonctlFailing, ListShowsThoseOfTheNodeAsked) {
  server_.control.FailActivation(ShardId{0}, 3, "disk");
  EXPECT_THAT(Batonctl(server_, {"shards", "list", "-o", "wide"}).out,
              HasSubstr("3 attempts in 1m35s, last error: disk\n"));
  EXPECT_THAT(Batonctl(server_, {"shards", "list", "-o", "json"}).out,
              HasSubstr(R"("state":"activating","failing":{"attempts":3)"));
}

// Plan: the cause is gone, then it is there, then the shard is active already.
TEST_F(BatonctlFailing, RetryFollowsTheAttemptToItsEnd) {
  server_.control.FailActivation(ShardId{0}, 3, "disk");
  server_.control.NextTry("disk, again");
  const Ran failed = Batonctl(server_, {"shards", "retry", "0"});
  EXPECT_EQ(failed.exit, 1);
  EXPECT_EQ(failed.err,
            "batonctl: shard 0 failed again: 4 attempts in 1m35s, last error: disk, again\n");
  server_.control.NextTry(std::nullopt);
  const Ran done = Batonctl(server_, {"shards", "retry", "0", "-o", "json"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(done.out, R"({"result":"done","message":"shard 0 is active on n1",)"
                      R"("shard":0,"attempts":4})"
                      "\n");
  EXPECT_EQ(Batonctl(server_, {"shards", "retry", "0"}).exit, 6);
  EXPECT_EQ(Batonctl(server_, {"shards", "retry", "99"}).exit, 4);
  EXPECT_THAT(server_.control.Retries()[0].actor, HasSubstr("@"));
}

TEST_F(BatonctlFailing, RetryAsADryRunOrDetachedReturnsAtOnce) {
  server_.control.FailActivation(ShardId{0}, 3, "disk");
  server_.control.NextTry("disk");
  EXPECT_EQ(Batonctl(server_, {"shards", "retry", "0", "--dry-run"}).out,
            "would try shard 0, which failed 3 times\n");
  EXPECT_EQ(server_.control.Now().shards[0].failing->attempts, 3u);
  EXPECT_EQ(Batonctl(server_, {"shards", "retry", "0", "--detach"}).out,
            "trying shard 0, which failed 3 times\n");
  EXPECT_EQ(server_.control.Now().shards[0].failing->attempts, 4u);
}

}  // namespace
}  // namespace baton::app
