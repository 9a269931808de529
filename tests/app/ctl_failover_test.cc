// batonctl and the group's failover: settings, shards that wait for a node, and force-releases. The
// real program against a real gRPC server on a fake node.
#include <chrono>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "app/ctl/group_settings.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

using runtime::AdminServer;
using runtime::NodeStatus;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class BatonctlFailover : public testing::Test {
 protected:
  BatonctlFailover() {
    server_.control.Freeze(true);
    server_.control.Change([](NodeStatus& status) {
      runtime::ShardStatus& waiting = status.shards[4];
      waiting.leader = "";
      waiting.address = "";
      waiting.term = Term{};
      waiting.state = ShardState::kLeaderless;
      waiting.reason = Reason::kLeaseExpired;
      waiting.previous = waiting.waits_for = "n3";
    });
  }
  AdminServer server_{{"n1", "n2", "n3"}, 6};
};

// Plan: some are set in one command, then one of them is changed, then all is shown.
TEST_F(BatonctlFailover, SettingsAreSetTogetherAndShown) {
  const Ran dry = Batonctl(server_, {"group", "set", "failover=after", "failover-delay=30s",
                                     "lock-delay=1500ms", "--dry-run"});
  EXPECT_EQ(dry.out, "would set failover=after failover-delay=30s lock-delay=1500ms\n");
  EXPECT_EQ(server_.control.Now().failover, FailoverSettings{});
  const Ran set = Batonctl(
      server_, {"group", "set", "failover=after", "failover-delay=30s", "lock-delay=1500ms"});
  EXPECT_EQ(set.out, "set failover=after failover-delay=30s lock-delay=1500ms\n");
  EXPECT_THAT(server_.control.GroupChanges(), SizeIs(2)) << "one call for all settings";
  EXPECT_EQ(Batonctl(server_, {"group", "set", "failover-delay", "1m", "-o", "json"}).out,
            R"({"result":"done","message":"set failover-delay=1m"})"
            "\n");
  EXPECT_EQ(Batonctl(server_, {"group", "get"}).out,
            "expected-nodes not set\nmax-moves not set: each node's --max-moves\n"
            "rebalance-delay not set: each node's --rebalance-delay\n"
            "cooldown not set: each node's --cooldown\n"
            "failover after\nfailover-delay 1m\nlock-delay 1500ms\nplacement no rules\n");
  EXPECT_THAT(Batonctl(server_, {"group", "get", "-o", "json"}).out,
              EndsWith(R"("failover":"after","failover_delay_ms":60000,"lock_delay_ms":1500,)"
                       R"("placement_rules":0,"config_schema":2})"
                       "\n"));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out,
              HasSubstr(R"("failover":"after","failover_delay_ms":60000,"lock_delay_ms":1500,)"
                        R"("placement_rules":0,"config_schema":2,)"));
}

// Plan: words that can't be right are refused without a call, in one line that says what is right.
TEST_F(BatonctlFailover, WrongWordsAreRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"failover=nevr"},
       "failover is \"nevr\"; expected immediate, after or never; did you mean \"never\"?"},
      {{"failover"}, "\"failover\" has no value; expected SETTING=VALUE"},
      {{"failover=after", "30s"}, "\"30s\" has no value; expected SETTING=VALUE"},
      {{"failover-delay=30"},
       "failover-delay: \"30\" is not a duration; expected a whole number and a unit, such as "
       "500ms, 10s, 1m or 2h"},
      {{"lock_delay=1s"},
       "no setting \"lock_delay\"; expected expected-nodes, max-moves, rebalance-delay, cooldown, "
       "failover, failover-delay, lock-delay; did you mean \"lock-delay\"?"},
      {{"lock-delay=1s", "lock-delay=2s"}, "lock-delay is given twice"},
      {{"max-moves=-1"}, "max-moves is \"-1\"; expected 1 to 100000, or default to clear it"},
      {{"max-moves=0"},
       "max-moves is \"0\"; expected 1 to 100000, or default to clear it; batonctl pause stops "
       "balance"},
      {{"cooldown=25h"}, "cooldown is 25h; expected 0s to 24h, or default to clear it"},
      {{"cooldown=-1s"},
       "cooldown: \"-1s\" is not a duration; expected a whole number and a unit, such as 500ms, "
       "10s, 1m or 2h"},
      {{"rebalance-delay=86401s", "max-moves=8"},
       "rebalance-delay is 86401s; expected 0s to 24h, or default to clear it"},
      {{"expected-nodes=3x"}, "expected-nodes is \"3x\"; expected 1 to 100000, or 0 to clear it"},
      {{"failover=never", "expected-nodes=3"},
       "expected-nodes, limits (max-moves, rebalance-delay, cooldown) and failover are changes of "
       "their own; give each in a command of its own"},
      {{"cooldown=1s", "lock-delay=1s"}, "are changes of their own"},
      {{"cooldown=1s", "expected-nodes=3"}, "are changes of their own"}};
  for (const auto& [words, message] : table) {
    std::vector<std::string> command{"group", "set"};
    command.insert(command.end(), words.begin(), words.end());
    const Ran ran = Batonctl(server_, command);
    EXPECT_EQ(ran.exit, 2) << message;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
  EXPECT_THAT(server_.control.GroupChanges(), IsEmpty());
  EXPECT_THAT(server_.control.Policies(), IsEmpty());
}

// Plan: the node says why settings make no sense.
TEST_F(BatonctlFailover, TheNodesRefusalIsTheAnswer) {
  server_.control.FailAll(Error{ErrorCode::kInvalidArgument, "failover=after needs a delay"});
  const Ran wrong = Batonctl(server_, {"group", "set", "failover=after"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_EQ(wrong.err, "batonctl: failover=after needs a delay\n");
  server_.control.FailAll(Error{ErrorCode::kFailedPrecondition, "n2 would not keep to it"});
  EXPECT_EQ(Batonctl(server_, {"group", "set", "failover=never"}).exit, 6);
}

// Plan: a shard waits for n3. Tables and JSON say so, and for how long; without an end, nothing
// more.
TEST_F(BatonctlFailover, WhoAShardWaitsForIsShown) {
  EXPECT_THAT(Batonctl(server_, {"shards", "list", "-o", "wide"}).out, HasSubstr("waits for n3"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "4"}).out, HasSubstr("waits for n3"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "4", "-o", "json"}).out,
              HasSubstr(R"("waits_for":"n3","others_wait_ms":null,"lock_wait_ms":0,)"));
  server_.control.Change([](NodeStatus& status) {
    status.at = TimePoint(std::chrono::hours(5));
    status.leaderless = status.waiting_by_settings = 1;
    status.shards[4].others_from = status.at + std::chrono::seconds(40);
    status.shards[4].locked_until = status.at + std::chrono::seconds(5);
  });
  EXPECT_THAT(Batonctl(server_, {"shards", "list", "-o", "wide"}).out,
              HasSubstr("waits for n3, 40.0s alone, 5.0s for the lock delay"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "4"}).out,
              HasSubstr("waits for n3, 40.0s alone, 5.0s for the lock delay"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "4", "-o", "json"}).out,
              HasSubstr(R"("waits_for":"n3","others_wait_ms":40000,"lock_wait_ms":5000,)"));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out,
              HasSubstr(R"("waiting_by_settings":1,)"));
  server_.control.Change([](NodeStatus& status) {
    status.shards[4].waits_for_directory = true;
    status.shards[4].others_from.reset();
    status.shards[4].locked_until.reset();
  });
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"shards", "list", "-o", "wide"}, {"shards", "describe", "4"}}) {
    EXPECT_THAT(Batonctl(server_, words).out,
                HasSubstr("waits for n3 with its old state directory"));
  }
  server_.control.Change([](NodeStatus& status) {
    status.shards[4].waits_for.clear();
    status.shards[4].locked_until = status.at + std::chrono::seconds(5);
  });
  EXPECT_THAT(Batonctl(server_, {"shards", "list", "-o", "wide"}).out,
              HasSubstr("waits 5.0s for the lock delay"));
}

// Plan: without --force, without a confirmation, and with another one, nothing is released, and one
// line says what to type and what it means. The line's command releases.
TEST_F(BatonctlFailover, AReleaseMustBeConfirmed) {
  const std::string line =
      "batonctl: any node may lead shard 4 then, without the writes that only its last leader 'n3' "
      "has: make sure that it is really gone, then type `batonctl shards release 4 --force "
      "--confirm orders/4`\n";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"shards", "release", "4"},
           {"shards", "release", "4", "--force"},
           {"shards", "release", "4", "--confirm", "orders/4"},
           {"shards", "release", "4", "--force", "--confirm", "4"},
           {"shards", "release", "4", "--force", "--confirm", "orders/3"}}) {
    const Ran ran = Batonctl(server_, words);
    EXPECT_EQ(ran.exit, 2);
    EXPECT_EQ(ran.err, line);
  }
  for (const auto& asked : server_.control.Releases()) EXPECT_TRUE(asked.dry_run);
  const Ran dry = Batonctl(server_, {"shards", "release", "4", "--dry-run"});
  EXPECT_EQ(dry.exit, 0);
  EXPECT_EQ(dry.out, "would release shard 4\n");
  EXPECT_EQ(server_.control.Now().shards[4].waits_for, "n3");
  const Ran done =
      Batonctl(server_, {"shards", "release", "4", "--force", "--confirm", "orders/4"});
  EXPECT_EQ(done.exit, 0);
  EXPECT_EQ(done.out, "shard 4 is released: any node may claim it\n");
  EXPECT_EQ(server_.control.Now().shards[4].waits_for, "");
}

// Plan: a shard that is led, confirmed or not, and one that does not exist.
TEST_F(BatonctlFailover, WhatCantBeReleasedHasItsExitCode) {
  const Ran led = Batonctl(server_, {"shards", "release", "0", "--force", "--confirm", "orders/0"});
  EXPECT_EQ(led.exit, 6);
  EXPECT_EQ(led.err, "batonctl: it is led\n");
  EXPECT_EQ(Batonctl(server_, {"shards", "release", "0"}).err, "batonctl: it is led\n");
  EXPECT_EQ(Batonctl(server_, {"shards", "release", "0", "--dry-run"}).exit, 6);
  EXPECT_EQ(Batonctl(server_, {"shards", "release", "6", "--dry-run"}).exit, 4);
}

}  // namespace
}  // namespace baton::app
