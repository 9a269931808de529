// The forecast of `placement check`, without a node and a program: who is wanted, what is claimed
// and moved, and who leads in the end.
#include "app/ctl/placement_forecast.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/group_status.h"

namespace baton::app {
namespace {

using runtime::NodeStatus;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

PlacementRule RuleFor(std::vector<ShardRange> shards, LabelTerms require,
                      std::vector<LabelTerms> prefer = {}) {
  return {.shards = std::move(shards), .require = std::move(require), .prefer = std::move(prefer)};
}

// Each claim and move as a word: "3>b", "0:a>b rule_forbids 1".
std::vector<std::string> Words(const PlacementForecast& forecast) {
  std::vector<std::string> words;
  for (const ClaimForecast& claim : forecast.claims) {
    words.push_back(std::to_string(claim.shard.value) + ">" + claim.to + " " +
                    std::to_string(claim.rule));
  }
  for (const MoveForecast& move : forecast.moves) {
    words.push_back(std::to_string(move.shard.value) + ":" + move.from + ">" + move.to + " " +
                    ToString(move.why) + " " + std::to_string(move.rule));
  }
  return words;
}

// Plan: two nodes in zone x and one in y; no rules. One shard is vacant, and balance moves one.
TEST(PlacementForecast, WithoutRulesItClaimsAndBalances) {
  const NodeStatus status = StatusOf({LiveNode("a", "x"), LiveNode("b", "x"), LiveNode("c", "y")},
                                     {"a", "a", "a", "b", "", "b"});
  const PlacementForecast forecast = Foresee(status, {});
  EXPECT_THAT(Words(forecast), ElementsAre("4>c 0", "0:a>c balance 0"));
  EXPECT_THAT(forecast.leaders, ElementsAre("c", "a", "a", "b", "c", "b"));
  EXPECT_EQ(forecast.without_rule, 6u);
  EXPECT_THAT(forecast.rules, IsEmpty());
  EXPECT_EQ(forecast.nobody_count, 0u);
  ASSERT_EQ(forecast.nodes.size(), 3u);
  EXPECT_EQ(forecast.nodes[0].leads, 3u);
  EXPECT_EQ(forecast.nodes[0].gives, 1u);
  EXPECT_EQ(forecast.nodes[2].gets, 2u);
  EXPECT_EQ(forecast.nodes[2].then(), 2u);
}

// Plan: the first rule requires zone x, the second prefers z, which nobody has, and then y, and the
// third is a pin to nobody. Each shard moves for its own reason, or stays.
TEST(PlacementForecast, EachRuleSaysWhomItWantsAndWhy) {
  NodeStatus status = StatusOf({LiveNode("c", "y"), LiveNode("b", "x"), LiveNode("a", "x")},
                               {"c", "b", "a", "c", "a", "b", "c"});
  status.members[2].drained_by_policy = true;
  const Placement placement = {
      RuleFor({{0, 1}}, {{"zone", {"x"}}}),
      RuleFor({{2, 3}, {100, 200}}, {}, {{{"zone", {"z"}}}, {{"zone", {"y"}}}}),
      RuleFor({{6, 6}}, {{"node", {"q"}}})};
  const PlacementForecast forecast = Foresee(status, placement);
  EXPECT_THAT(Words(forecast),
              ElementsAre("0:c>b rule_forbids 1", "2:a>c drain 2", "4:a>b drain 0"));
  ASSERT_EQ(forecast.rules.size(), 3u);
  EXPECT_EQ(forecast.rules[0].shards, 2u);
  EXPECT_EQ(forecast.rules[0].may_lead, 2u) << "it may, but it drains";
  EXPECT_THAT(forecast.rules[0].wanted, ElementsAre("b"));
  EXPECT_EQ(forecast.rules[0].preference, 0u);
  EXPECT_EQ(forecast.rules[1].shards, 2u);
  EXPECT_THAT(forecast.rules[1].wanted, ElementsAre("c"));
  EXPECT_EQ(forecast.rules[1].preference, 2u);
  EXPECT_THAT(forecast.rules[2].wanted, IsEmpty());
  EXPECT_EQ(forecast.without_rule, 2u);
  EXPECT_EQ(forecast.nobody_count, 1u);
  EXPECT_EQ(RangeWords(forecast.nobody), "6");
  EXPECT_EQ(forecast.leaders[6], "c") << "a sitting leader goes on";
  EXPECT_THAT(InfeasibleLines(forecast, placement),
              ElementsAre("rule 3 (node=q) lets no live node begin to lead its 1 shard",
                          "nobody may begin to lead 1 shard: 6"));
}

// Plan: a member that is gone, one that leads nothing and has weight 0, and shards that wait: a
// damaged record, a leader that died soon, and a lock delay. None of them is claimed.
TEST(PlacementForecast, WhatWaitsIsNotClaimed) {
  NodeStatus status =
      StatusOf({LiveNode("a"), LiveNode("b"), LiveNode("c")}, {"a", "", "", "", "", "gone"});
  status.members[1].fact.weight = 0;
  status.members[2].fact.present = false;
  status.shards[1].quarantined = true;
  status.shards[2].claims_wait = std::chrono::seconds(3);
  status.shards[3].locked_until = status.at + std::chrono::seconds(1);
  const PlacementForecast forecast = Foresee(status, {});
  EXPECT_THAT(Words(forecast), ElementsAre("4>a 0"));
  EXPECT_THAT(forecast.leaders, ElementsAre("a", "", "", "", "a", ""));
  EXPECT_EQ(forecast.nodes.size(), 2u);
}

// Plan: failover=never, and five shards wait for a node that is gone. Nobody but this node can get
// them, so the others keep no seats free for them: b, which has just joined, gets two of four.
TEST(PlacementForecast, ShardsKeptForAnAbsentLeaderTakeNoSeats) {
  NodeStatus status =
      StatusOf({LiveNode("a"), LiveNode("b")}, {"a", "a", "a", "a", "", "", "", "", ""});
  status.failover.policy = FailoverPolicy::kNever;
  for (std::size_t s = 4; s < 9; ++s) status.shards[s].waits_for = "gone";
  const PlacementForecast forecast = Foresee(status, {});
  EXPECT_THAT(Words(forecast), ElementsAre("0:a>b balance 0", "1:a>b balance 0"));
  EXPECT_EQ(forecast.without_rule, 9u);
}

PlacementRule Warm(std::uint32_t standbys, const std::string& spread = "") {
  PlacementRule rule;
  rule.standbys = standbys;
  rule.spread = spread;
  return rule;
}

// Plan: c is ready for both vacancies, so it gets them, although a and b lead less. Then balance
// moves what is too much there. A word of a node that is no standby does not count.
TEST(PlacementForecast, AVacancyGoesToItsReadyStandby) {
  NodeStatus status =
      StatusOf({LiveNode("a"), LiveNode("b"), LiveNode("c")}, {"a", "b", "c", "c", "", ""});
  SetReady(status.shards[4], {"c"});
  SetReady(status.shards[5], {"c"});
  const PlacementForecast forecast = Foresee(status, {Warm(2)});
  EXPECT_THAT(Words(forecast), ElementsAre("4>c 1", "5>c 1", "2:c>a balance 1", "3:c>b balance 1"));
  ASSERT_EQ(forecast.claims.size(), 2u);
  EXPECT_TRUE(forecast.claims[0].ready());
  const PlacementForecast cold = Foresee(status, {});
  EXPECT_THAT(Words(cold), ElementsAre("4>a 0", "5>b 0"));
  EXPECT_FALSE(cold.claims[0].ready());
}

// Plan: c is ready, but may not lead by the rule; it drains; it is gone; the shard waits.
TEST(PlacementForecast, ANodeThatMayNotTakeOverIsNoStandby) {
  NodeStatus status = StatusOf({LiveNode("a"), LiveNode("b"), LiveNode("c")}, {"a", ""});
  SetReady(status.shards[1], {"c", "unknown"});
  PlacementRule rule = Warm(1);
  rule.require = {{"node", {"a", "b"}}};
  EXPECT_THAT(Words(Foresee(status, {rule})), ElementsAre("1>b 1"));
  NodeStatus draining = status;
  draining.members[2].fact.state = MemberState::kDraining;
  EXPECT_THAT(Words(Foresee(draining, {Warm(2)})), ElementsAre("1>b 1"));
  NodeStatus gone = status;
  gone.members[2].fact.present = false;
  EXPECT_THAT(Words(Foresee(gone, {Warm(2)})), ElementsAre("1>b 1"));
  status.shards[1].quarantined = true;
  EXPECT_THAT(Words(Foresee(status, {Warm(2)})), IsEmpty());
}

// Plan: the table has a column for standbys if a rule asks for some; a rule that asks for more than
// there are nodes is named.
TEST(PlacementForecast, SaysWhichStandbysTheRulesAskFor) {
  const NodeStatus status =
      StatusOf({LiveNode("a", "x"), LiveNode("b", "y"), LiveNode("c", "y")}, {"a", "b", "c"});
  PlacementRule pair = Warm(2);
  pair.require = {{"zone", {"y"}}};
  pair.shards = {{1, 1}};
  const Placement placement = {
      pair, {.shards = {{2, 2}}, .require = {}, .prefer = {}}, Warm(2, "zone")};
  const PlacementForecast forecast = Foresee(status, placement);
  EXPECT_EQ(Render(RulesTable(forecast, placement), false),
            "RULE  SHARDS  REQUIRE   MAY LEAD  WANTED NOW  STANDBYS\n"
            "   1       1  zone=y           2  b, c        2\n"
            "   2       1  any node         3  a, b, c     -\n"
            "   3       1  any node         3  a, b, c     2 by zone\n");
  EXPECT_THAT(TooFewStandbyLines(forecast, placement),
              ElementsAre("rule 1 asks for 2 standbys, but only 2 live nodes may lead or stand by "
                          "for its 1 shard"));
  const std::string json = ForecastJson(forecast, placement);
  EXPECT_THAT(json, testing::HasSubstr(R"("wanted":["b","c"],"standbys":2,"spread":null})"));
  EXPECT_THAT(json, testing::HasSubstr(R"("standbys":2,"spread":"zone"})"));
}

// Plan: names that no live node has, in each part of a rule; a dead node and a value that nobody
// has are something else. If no node is live, nothing is known.
TEST(PlacementForecast, NamesLabelsThatNoLiveNodeHas) {
  NodeStatus status = StatusOf({LiveNode("a", "x"), LiveNode("b"), LiveNode("c")}, {"a", "b"});
  status.members[1].fact.labels = {{"disk", "ssd"}};
  status.members[2].fact.labels = {{"rack", "r1"}};
  status.members[2].fact.present = false;
  const Placement placement = {
      Warm(1, "zonee"),
      RuleFor({}, {}, {{{"zone", {"nowhere"}}}, {{"dis", {"ssd"}}}}),
      RuleFor({}, {{"rack", {"r1"}}, {"disk", {"ssd"}}}),
      RuleFor({}, {{"memory", {"large"}}}, {{{"cpu", {"fast"}}, {"memory", {"large"}}}}),
      RuleFor({}, {{"node", {"a"}}}, {{{"zone", {"x"}}}}),
  };
  EXPECT_THAT(
      UnknownLabelLines(Foresee(status, placement), placement),
      ElementsAre("rule 1 names label zonee, which no live node has; did you mean \"zone\"?",
                  "rule 2 names label dis, which no live node has; did you mean \"disk\"?",
                  "rule 3 names label rack, which no live node has",
                  "rule 4 names labels that no live node has: cpu, memory"));
  for (runtime::MemberStatus& member : status.members) member.fact.present = false;
  EXPECT_THAT(UnknownLabelLines(Foresee(status, placement), placement), IsEmpty());
}

// Plan: two moves because a rule forbids their leader, one for a preference and one for balance. In
// a pause the last two wait, unless an operator's rebalance is under way.
TEST(PlacementForecast, SaysWhatWaitsForTheEndOfAPause) {
  NodeStatus status =
      StatusOf({LiveNode("a", "x"), LiveNode("b", "y")}, {"a", "a", "b", "a", "a", "a", "a", "b"});
  const Placement placement = {RuleFor({{0, 1}}, {{"zone", {"y"}}}),
                               RuleFor({{2, 2}}, {}, {{{"zone", {"x"}}}})};
  const PlacementForecast forecast = Foresee(status, placement);
  EXPECT_EQ(MoveWords(forecast),
            "4 shards would move: 2 because a rule forbids their leader, 1 because a rule prefers "
            "others, 1 to spread shards evenly");
  EXPECT_EQ(PauseWords(status, forecast), "");
  status.paused = true;
  EXPECT_EQ(PauseWords(status, forecast),
            "balance is paused: 2 of these moves wait for `batonctl resume`");
  status.rebalance_requested = true;
  EXPECT_EQ(PauseWords(status, forecast), "");
  status.rebalance_requested = false;
  EXPECT_EQ(PauseWords(status, Foresee(status, {placement[0]})), "") << "only those that go on";
  status.shards[1].leader = "b";
  EXPECT_EQ(PauseWords(status, Foresee(status, {})),
            "balance is paused: 1 of these moves waits for `batonctl resume`");
}

}  // namespace
}  // namespace baton::app
