// The reasons that block a drain, judged from a node's answers without a program.
#include "app/ctl/blocked_drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/ctl/watch.h"
#include "app/group_status.h"

namespace baton::app {
namespace {

using runtime::NodeStatus;
using testing::ElementsAre;
using testing::IsEmpty;

const LabelTerms kZoneX = {{.label = "zone", .values = {"x"}}};
const LabelTerms kNodeA = {{.label = "node", .values = {"a"}}};

// An operator drains a, which leads all shards. Rule 1 pins shard 0 to a; rule 2 wants shard 1 in
// zone x; shard 2 has no rule. b is in zone y.
NodeStatus Draining() {
  NodeStatus status = StatusOf({LiveNode("a", "x"), LiveNode("b", "y")}, {"a", "a", "a"});
  status.placement = {{.shards = {{0, 0}}, .require = kNodeA, .prefer = {}},
                      {.shards = {{1, 1}}, .require = kZoneX, .prefer = {}}};
  status.shards[0].rule = 1;
  status.shards[1].rule = 2;
  status.members[0].drained_by_policy = true;
  status.members[0].led = 3;
  return status;
}

// The same after shard 2 has moved to b.
NodeStatus WithTheRestMoved() {
  NodeStatus status = Draining();
  status.shards[2].leader = "b";
  status.members[0].led = 2;
  status.members[1].led = 1;
  return status;
}

// Plan: each shard that stays, by rule; then one that has a move in flight, and a node that fits.
TEST(BlockedDrain, CountsTheShardsThatRulesForbidToAllOthers) {
  NodeStatus status = Draining();
  LedShards led = LedBy(status, "a");
  EXPECT_EQ(led.blocked, 2u);
  EXPECT_EQ(led.movable, 1u);
  EXPECT_THAT(led.rules, ElementsAre(1, 2));
  EXPECT_EQ(RuleWords(status, led.rules), "rules 1 (node=a) and 2 (zone=x)");
  status.shards[0].move = std::make_shared<const MoveFact>();
  EXPECT_THAT(LedBy(status, "a").rules, ElementsAre(2));
  status.members.push_back(LiveNode("c", "x"));
  led = LedBy(status, "a");
  EXPECT_EQ(led.blocked, 0u);
  EXPECT_EQ(led.movable, 3u);
  EXPECT_THAT(led.rules, IsEmpty());
}

// Plan: the only other node that fits drains, has weight 0, or is not live.
TEST(BlockedDrain, ANodeThatTakesNothingDoesNotCount) {
  for (int what = 0; what < 3; ++what) {
    NodeStatus status = Draining();
    runtime::MemberStatus fits = LiveNode("c", "x");
    if (what == 0) fits.drained_by_policy = true;
    if (what == 1) fits.fact.weight = 0;
    if (what == 2) fits.fact.lease = SessionId{};
    if (what == 2) fits.fact.present = false;
    status.members.push_back(fits);
    EXPECT_THAT(LedBy(status, "a").rules, ElementsAre(1, 2)) << what;
  }
}

TEST(BlockedDrain, NamesTheFirstRulesAlone) {
  NodeStatus status;
  for (int i = 0; i < 5; ++i) {
    status.placement.push_back({.shards = {}, .require = kZoneX, .prefer = {}});
  }
  EXPECT_EQ(RuleWords(status, {2}), "rule 2 (zone=x)");
  EXPECT_EQ(RuleWords(status, {1, 2, 3}), "rules 1 (zone=x), 2 (zone=x) and 3 (zone=x)");
  EXPECT_EQ(RuleWords(status, {1, 2, 3, 4, 5}),
            "rules 1 (zone=x), 2 (zone=x), 3 (zone=x) and 2 more");
}

// Plan: the shards are asked for only if they can change the answer.
TEST(BlockedDrain, TheShardsAreNeededOnlyIfARuleForbidsAllOthers) {
  EXPECT_TRUE(RulesMayBlock(Draining(), "a"));
  NodeStatus status = Draining();
  status.members[0].drained_by_policy = false;
  EXPECT_FALSE(RulesMayBlock(status, "a")) << "the answer is older than the drain";
  status = Draining();
  status.members[0].led = 0;
  EXPECT_FALSE(RulesMayBlock(status, "a"));
  status = Draining();
  status.members[1].fact.weight = 0;
  EXPECT_FALSE(RulesMayBlock(status, "a")) << "nobody takes any shard";
  status = Draining();
  status.placement.erase(status.placement.begin());
  status.members.push_back(LiveNode("c", "x"));
  EXPECT_FALSE(RulesMayBlock(status, "a")) << "c may lead all";
}

// Plan: while a shard can move, the drain goes on. Then all that are left are blocked. Without the
// shards the answer does not say so. A node that may lead one of them joins.
TEST(BlockedDrain, EndsOnceAllThatIsLeftIsBlocked) {
  EXPECT_FALSE(JudgeDrain("a", 3, {Draining(), {}}).exit);
  const Verdict partly = JudgeDrain("a", 3, {WithTheRestMoved(), {}});
  EXPECT_EQ(partly.exit, ExitCode::kPartly);
  EXPECT_EQ(partly.line,
            "no other node may lead a's 2 shards by placement rules 1 (node=a) and 2 (zone=x): it "
            "goes on leading them; the drain stands, and goes on when a node that may lead them "
            "joins");
  EXPECT_EQ(JudgeDrain("a", 2, {WithTheRestMoved(), {}}).exit, ExitCode::kPrecondition);
  NodeStatus status = WithTheRestMoved();
  status.shards.clear();
  EXPECT_FALSE(JudgeDrain("a", 3, {status, {}}).exit);
  status = WithTheRestMoved();
  status.members.push_back(LiveNode("c", "x"));
  EXPECT_FALSE(JudgeDrain("a", 3, {status, {}}).exit);
  status.shards[1].leader = "c";
  status.members[0].led = 1;
  EXPECT_EQ(JudgeDrain("a", 3, {status, {}}).exit, ExitCode::kPartly);
  EXPECT_EQ(JudgeDrain("a", 3, {status, {}}).line,
            "no other node may lead a's 1 shard by placement rule 1 (node=a): it goes on leading "
            "it; the drain stands, and goes on when a node that may lead it joins");
}

}  // namespace
}  // namespace baton::app
