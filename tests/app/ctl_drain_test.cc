// batonctl drains a node whose shards placement rules keep: the real program against a fake node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

using runtime::AdminServer;
using runtime::NodeStatus;
using testing::HasSubstr;
using testing::IsEmpty;

class BatonctlRuledDrain : public testing::Test {
 protected:
  // n2 leads shards 2 and 3. Rule 1 pins those from `first` on to n2.
  void PinFrom(std::uint32_t first) {
    server_.control.Change([first](NodeStatus& status) {
      status.placement = {
          {.shards = {{first, 3}}, .require = {{.label = "node", .values = {"n2"}}}, .prefer = {}}};
      for (std::uint32_t i = first; i <= 3; ++i) status.shards[i].rule = 1;
    });
  }

  AdminServer server_{{"n1", "n2", "n3"}, 6};
};

// Plan: rules pin all shards of the node to it. Nothing can move, which the verb says at once; the
// drain stands. A dry run says the same, and drains nothing.
TEST_F(BatonctlRuledDrain, SaysAtOnceThatTheRulesKeepAll) {
  PinFrom(2);
  server_.control.Freeze(true);
  const Ran dry = Batonctl(server_, {"nodes", "drain", "n2", "--dry-run"});
  EXPECT_EQ(dry.exit, 6);
  EXPECT_EQ(dry.err,
            "batonctl: 2 of n2's 2 shards would stay: no other node may lead them by placement "
            "rule 1 (node=n2)\n");
  EXPECT_FALSE(server_.control.Now().members[1].drained_by_policy);
  const Ran ran = Batonctl(server_, {"nodes", "drain", "n2"});
  EXPECT_EQ(ran.exit, 6);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_EQ(
      ran.err,
      "batonctl: no other node may lead n2's 2 shards by placement rule 1 (node=n2): it goes "
      "on leading them; the drain stands, and goes on when a node that may lead them joins\n");
  EXPECT_TRUE(server_.control.Now().members[1].drained_by_policy);
}

// Plan: one of two shards is pinned. Once the other one has moved, there is nothing to wait for.
TEST_F(BatonctlRuledDrain, WaitsForTheShardsThatCanMove) {
  PinFrom(3);
  server_.control.Freeze(true);
  const Ran dry = Batonctl(server_, {"nodes", "drain", "n2", "--dry-run"});
  EXPECT_EQ(dry.exit, 6);
  EXPECT_THAT(dry.err, HasSubstr("1 of n2's 2 shards would stay"));
  RunOptions options = Ctl(server_.endpoint, {"nodes", "drain", "n2"});
  options.watch = [this](const Ran& ran, pid_t) {
    if (ran.err.find("n2 leads 2 of 2 shards") == std::string::npos) return;
    server_.control.Change([](NodeStatus& status) { status.shards[2].leader = "n1"; });
  };
  const Ran ran = RunProcess(options);
  EXPECT_EQ(ran.exit, 7) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("no other node may lead n2's 1 shard by placement rule 1"));
}

// Plan: there are rules, but another node may lead what they name.
TEST_F(BatonctlRuledDrain, RulesThatAnotherNodeFitsKeepNothing) {
  server_.control.Change([](NodeStatus& status) {
    status.placement = {
        {.shards = {}, .require = {{.label = "node", .values = {"n1", "n2"}}}, .prefer = {}}};
    for (auto& shard : status.shards) shard.rule = 1;
    for (auto& shard : status.shards) shard.leader = "n2";
  });
  EXPECT_EQ(Batonctl(server_, {"nodes", "drain", "n2", "--dry-run"}).out,
            "would drain n2: 6 shards would move\n");
}

}  // namespace
}  // namespace baton::app
