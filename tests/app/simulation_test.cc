// `rebalance simulate` without a node and a program: its figures and words.
#include "app/ctl/simulation.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/ctl/simulation_report.h"
#include "app/group_status.h"

namespace baton::app {
namespace {

using runtime::NodeStatus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<LabelTerm> kWithoutZoneA{{"zone", {"a"}}};

// Two nodes in each of the zones a, b and c. Shards 0 to 7 need a or b, and prefer a; the others
// may be anywhere.
NodeStatus ThreeZones() {
  NodeStatus status =
      StatusOf({LiveNode("n1", "a"), LiveNode("n2", "a"), LiveNode("n3", "b"), LiveNode("n4", "b"),
                LiveNode("n5", "c"), LiveNode("n6", "c")},
               {"n1", "n1", "n1", "n1", "n2", "n2", "n2", "n2", "n3", "n4", "n5", "n6"});
  status.placement = {
      {.shards = {{0, 7}}, .require = {{"zone", {"a", "b"}}}, .prefer = {{{"zone", {"a"}}}}}};
  return status;
}

// Plan: zone a is lost. Zone b takes the rule's shards, four each, and gives the others to zone c.
TEST(Simulation, SaysWhoTakesOverAndWhatMovesThen) {
  const NodeStatus status = ThreeZones();
  const Result<Simulation> simulation = Simulate(status, kWithoutZoneA);
  ASSERT_TRUE(simulation.ok());
  EXPECT_THAT(simulation->away, ElementsAre("n1", "n2"));
  EXPECT_THAT(SummaryLines(*simulation), ElementsAre("without zone=a: n1, n2; 4 nodes left",
                                                     "8 shards would be claimed as soon as leases "
                                                     "end"));
  EXPECT_EQ(Render(ClaimsTable(*simulation, false), false),
            "LED BY  COUNT  SHARDS\n"
            "n3          4  0-3\n"
            "n4          4  4-7\n");
  EXPECT_THAT(Render(ClaimsTable(*simulation, true), false),
              HasSubstr("SHARD  LED BY  THEN  RULE\n"
                        "    0  n1      n3       1\n"));
  EXPECT_EQ(Render(OutlookTable(*simulation), false),
            "NODE  WEIGHT  LEADS  SHARE  GIVES  GETS  THEN  SHARE THEN\n"
            "n1         1      4  33.3%      -     -  away           -\n"
            "n2         1      4  33.3%      -     -  away           -\n"
            "n3         1      1   8.3%      1     4     4       33.3%\n"
            "n4         1      1   8.3%      1     4     4       33.3%\n"
            "n5         1      1   8.3%      0     1     2       16.7%\n"
            "n6         1      1   8.3%      0     1     2       16.7%\n");
  EXPECT_EQ(Render(KeptTable(*simulation, status.placement), false),
            "RULE  LED BY                NOW  THEN\n"
            "   1  preference 1: zone=a    8     0\n"
            "   1  others: zone=a|b        0     8\n");
  EXPECT_EQ(MoveWords(simulation->forecast), "2 shards would move: 2 to spread shards evenly");
  EXPECT_THAT(LeaderlessLines(*simulation, status.placement), IsEmpty());
}

// Plan: zones a and b are lost, and nobody may lead the rule's shards.
TEST(Simulation, NamesShardsThatNobodyMayLeadByRule) {
  const NodeStatus status = ThreeZones();
  const Result<Simulation> simulation =
      Simulate(status, {{"zone", {"a"}}, {"node", {"n3"}}, {"node", {"n4"}}});
  ASSERT_TRUE(simulation.ok());
  EXPECT_THAT(SummaryLines(*simulation),
              ElementsAre("without zone=a, node=n3, node=n4: n1, n2, n3, n4; 2 nodes left",
                          "2 shards would be claimed as soon as leases end"));
  EXPECT_EQ(simulation->leaderless_count, 8u);
  EXPECT_THAT(LeaderlessLines(*simulation, status.placement),
              ElementsAre("rule 1 (zone=a|b) would let nobody lead 8 shards: 0-7"));
  EXPECT_THAT(Render(KeptTable(*simulation, status.placement), false),
              HasSubstr("   1  nobody                  0     8\n"));
}

// Plan: with failover=after and a lock delay it says when; with never the shards wait.
TEST(Simulation, FailoverSettingsSayWhenOrThatTheyWait) {
  NodeStatus status = ThreeZones();
  status.failover = {.policy = FailoverPolicy::kAfter,
                     .delay = std::chrono::seconds(30),
                     .lock_delay = std::chrono::seconds(10)};
  EXPECT_THAT(SummaryLines(*Simulate(status, kWithoutZoneA)),
              ElementsAre("without zone=a: n1, n2; 4 nodes left",
                          "8 shards would be claimed 30s after their leaders are gone "
                          "(failover-delay), and not before the lock-delay of 10s is over"));
  status.failover = {.policy = FailoverPolicy::kNever};
  const Result<Simulation> never = Simulate(status, kWithoutZoneA);
  ASSERT_TRUE(never.ok());
  EXPECT_THAT(SummaryLines(*never),
              ElementsAre("without zone=a: n1, n2; 4 nodes left", "no shard would be claimed"));
  EXPECT_THAT(LeaderlessLines(*never, status.placement),
              ElementsAre("failover=never: 8 shards would wait for the nodes that led them: 0-7"));
  EXPECT_EQ(never->leaderless_count, 8u);
}

// Plan: all nodes are lost; a shard waits already; a label that nobody has.
TEST(Simulation, NobodyIsLeftOrNobodyFits) {
  NodeStatus status = StatusOf({LiveNode("n1", "a"), LiveNode("n2")}, {"n1", "n2", ""});
  status.shards[2].quarantined = true;
  const Result<Simulation> none = Simulate(status, {{"node", {"n1"}}, {"node", {"n2"}}});
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(LeaderlessLines(*none, {}),
              ElementsAre("no node that may lead would be left for 3 shards: 0-2"));
  EXPECT_THAT(LeaderlessLines(*Simulate(status, kWithoutZoneA), {}),
              ElementsAre("1 shard has no leader now, and nobody may claim it yet: 2"));
  const auto refusal = [&](const LabelTerm& term) {
    const Result<Simulation> refused = Simulate(status, {term});
    EXPECT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
    return refused.error().message;
  };
  EXPECT_EQ(refusal({"zone", {"q"}}), "no live node has zone=q; zone of live nodes: a");
  EXPECT_EQ(refusal({"node", {"n9"}}), "no live node has node=n9; node of live nodes: n1, n2");
  EXPECT_EQ(refusal({"disk", {"ssd"}}), "no live node has disk=ssd; no live node has this label");
}

// Plan: n1 leads ten shards, and a standby is ready for nine of them. n1 is lost. The summary
// counts the nine, and the tables say who was ready.
TEST(Simulation, SaysHowManyShardsReadyStandbysTakeOver) {
  NodeStatus status =
      StatusOf({LiveNode("n1", "a"), LiveNode("n2", "b"), LiveNode("n3", "c")}, {"n1", "n2", "n3"});
  while (status.shard_count < 12) AddShard(status, "n1");
  status.placement.push_back({.shards = {}, .require = {}, .prefer = {}, .standbys = 2});
  status.placement[0].spread = "zone";
  for (std::size_t s = 3; s < 12; ++s) SetReady(status.shards[s], {s < 9 ? "n2" : "n3"});
  const Result<Simulation> simulation = Simulate(status, kWithoutZoneA);
  ASSERT_TRUE(simulation.ok());
  EXPECT_THAT(SummaryLines(*simulation),
              ElementsAre("without zone=a: n1; 2 nodes left",
                          "10 shards would be claimed as soon as leases end, 9 of them by ready "
                          "standbys"));
  EXPECT_EQ(Render(ClaimsTable(*simulation, false), false),
            "LED BY  COUNT  READY  SHARDS\n"
            "n2          6      6  3-8\n"
            "n3          4      3  0, 9-11\n");
  EXPECT_THAT(Render(ClaimsTable(*simulation, true), false),
              HasSubstr("SHARD  LED BY  THEN  RULE  READY\n"
                        "    0  n1      n3       1  no\n"
                        "    3  n1      n2       1  yes\n"));
  EXPECT_EQ(MoveWords(simulation->forecast), "1 shard would move: 1 to spread shards evenly");
  const std::string json = SimulationJson(*simulation, status.placement);
  EXPECT_THAT(json, HasSubstr(R"("claims_by_ready_standbys":9,)"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"({"shard":3,"from":"n1","to":"n2","why":"ready_standby","rule":1,"ready_standby":true})"));
}

// Plan: the words for one shard and for many, with none and all of them ready.
TEST(Simulation, CountsReadyStandbysInWords) {
  NodeStatus status = StatusOf({LiveNode("n1", "a"), LiveNode("n2", "b")}, {"n1", "n2"});
  status.placement.push_back({.shards = {}, .require = {}, .prefer = {}, .standbys = 1});
  const auto summary = [&] { return SummaryLines(*Simulate(status, kWithoutZoneA)).back(); };
  const std::string one = "1 shard would be claimed as soon as leases end, ";
  EXPECT_EQ(summary(), one + "by no ready standby");
  SetReady(status.shards[0], {"n2"});
  EXPECT_EQ(summary(), one + "by a ready standby");
  AddShard(status, "n1");
  const std::string two = "2 shards would be claimed as soon as leases end, ";
  EXPECT_EQ(summary(), two + "1 of them by a ready standby");
  SetReady(status.shards[2], {"n2"});
  EXPECT_EQ(summary(), two + "all of them by ready standbys");
  for (auto& shard : status.shards) shard.standbys = nullptr;
  EXPECT_EQ(summary(), two + "none of them by a ready standby");
}

// Plan: what docs/placement.md shows.
TEST(Simulation, IsAsTheDocumentShows) {
  NodeStatus status = ThreeZones();
  status.placement[0].shards.clear();
  for (std::size_t s = 0; s < 12; ++s) status.shards[s].leader = s < 6 ? "n1" : "n2";
  const Result<Simulation> simulation = Simulate(status, kWithoutZoneA);
  ASSERT_TRUE(simulation.ok());
  EXPECT_EQ(Render(ClaimsTable(*simulation, false), false),
            "LED BY  COUNT  SHARDS\n"
            "n3          6  0-5\n"
            "n4          6  6-11\n");
  EXPECT_THAT(Render(OutlookTable(*simulation), false),
              HasSubstr("n3         1      0   0.0%      0     6     6       50.0%\n"));
  EXPECT_EQ(Render(KeptTable(*simulation, status.placement), false),
            "RULE  LED BY                NOW  THEN\n"
            "   1  preference 1: zone=a   12     0\n"
            "   1  others: zone=a|b        0    12\n");
  EXPECT_EQ(MoveWords(simulation->forecast), "nothing would move");
  const Result<Simulation> both = Simulate(status, {{"zone", {"a"}}, {"zone", {"b"}}});
  ASSERT_TRUE(both.ok());
  EXPECT_THAT(LeaderlessLines(*both, status.placement),
              ElementsAre("rule 1 (zone=a|b) would let nobody lead 12 shards: 0-11"));
}

// Plan: what docs/placement.md shows of standbys: six nodes with two shards each.
TEST(Simulation, OfStandbysIsAsTheDocumentShows) {
  NodeStatus status =
      StatusOf({LiveNode("n1", "a"), LiveNode("n2", "a"), LiveNode("n3", "b"), LiveNode("n4", "b"),
                LiveNode("n5", "c"), LiveNode("n6", "c")},
               {"n1", "n1", "n2", "n2", "n3", "n3", "n4", "n4", "n5", "n5", "n6", "n6"});
  status.placement.push_back({.shards = {}, .require = {}, .prefer = {}, .standbys = 1});
  status.placement[0].spread = "zone";
  SetReady(status.shards[0], {"n5"});
  SetReady(status.shards[1], {"n5"});
  SetReady(status.shards[2], {"n6"});
  SetReady(status.shards[3], {"n4"});
  const Result<Simulation> simulation = Simulate(status, kWithoutZoneA);
  ASSERT_TRUE(simulation.ok());
  EXPECT_EQ(SummaryLines(*simulation).back(),
            "4 shards would be claimed as soon as leases end, all of them by ready standbys");
  EXPECT_EQ(Render(ClaimsTable(*simulation, false), false),
            "LED BY  COUNT  READY  SHARDS\n"
            "n4          1      1  3\n"
            "n5          2      2  0-1\n"
            "n6          1      1  2\n");
  EXPECT_THAT(Render(OutlookTable(*simulation), false),
              HasSubstr("n3         1      2  16.7%      0     1     3       25.0%\n"));
  EXPECT_THAT(Render(OutlookTable(*simulation), false),
              HasSubstr("n5         1      2  16.7%      1     2     3       25.0%\n"));
  EXPECT_EQ(Render(KeptTable(*simulation, status.placement), false),
            "RULE  LED BY    NOW  THEN\n"
            "   1  any node   12    12\n");
  EXPECT_EQ(MoveWords(simulation->forecast), "1 shard would move: 1 to spread shards evenly");
  EXPECT_THAT(StandbyLines(*simulation, status.placement), IsEmpty());
}

// Plan: the same group, and a rule that asks for two standbys in zones of their own. Without zone a
// two zones are left, so leader and standbys share one. Without all but n1 and n3 there is one
// standby for each shard, in the other zone.
TEST(Simulation, SaysWhichRulesAboutStandbysWouldNotHold) {
  NodeStatus status =
      StatusOf({LiveNode("n1", "a"), LiveNode("n2", "a"), LiveNode("n3", "b"), LiveNode("n4", "b"),
                LiveNode("n5", "c"), LiveNode("n6", "c")},
               {"n1", "n1", "n2", "n2", "n3", "n3", "n4", "n4", "n5", "n5", "n6", "n6"});
  status.placement.push_back({.shards = {}, .require = {}, .prefer = {}, .standbys = 2});
  status.placement[0].spread = "zone";
  Result<Simulation> simulation = Simulate(status, kWithoutZoneA);
  ASSERT_TRUE(simulation.ok());
  EXPECT_EQ(simulation->rules[0].now.not_apart, 0u);
  EXPECT_THAT(
      StandbyLines(*simulation, status.placement),
      ElementsAre("rule 1: leader and standbys of 12 shards would share a value of zone (now 0)"));
  std::vector<LabelTerm> without;
  for (const char* const node : {"n2", "n4", "n5", "n6"}) without.push_back({"node", {node}});
  simulation = Simulate(status, without);
  ASSERT_TRUE(simulation.ok());
  EXPECT_THAT(StandbyLines(*simulation, status.placement),
              ElementsAre("rule 1: 12 shards would have fewer than 2 standbys (now 0)"));
}

TEST(Simulation, ReadsWhatToTakeAway) {
  EXPECT_EQ(*ParseWithout("zone=a"), (LabelTerm{"zone", {"a"}}));
  EXPECT_EQ(*ParseWithout("example.org/x=A-1.b"), (LabelTerm{"example.org/x", {"A-1.b"}}));
  for (const char* wrong : {"", "zone", "zone=", "=a", "Zone=a", "zone=a=b", "zone=a,b"}) {
    const Result<LabelTerm> refused = ParseWithout(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().message, "\"" + std::string(wrong) +
                                           "\" is no label with a value; give LABEL=VALUE, such as "
                                           "zone=a or node=n3");
  }
}

// Plan: n2 stops, and the group keeps its shards for it: they are no moves, whatever else happens.
// If an operator drains n2, or failover is immediate, they move.
TEST(Simulation, ShardsOfANodeThatStopsStayIfFailoverKeepsThem) {
  NodeStatus status =
      StatusOf({LiveNode("n1"), LiveNode("n2"), LiveNode("n3")}, {"n1", "n2", "n3"});
  status.members[1].fact.state = MemberState::kDraining;
  const auto moves = [&status] {
    std::string from;
    const Result<Simulation> simulation = Simulate(status, {{"node", {"n3"}}});
    for (const MoveForecast& move : simulation->forecast.moves) from += move.from + " ";
    return from;
  };
  EXPECT_EQ(moves(), "n2 ");
  status.failover.policy = FailoverPolicy::kNever;
  EXPECT_EQ(moves(), "");
  status.failover.policy = FailoverPolicy::kAfter;
  EXPECT_EQ(moves(), "");
  status.members[1].drained_by_policy = true;
  EXPECT_EQ(moves(), "n2 ");
}

}  // namespace
}  // namespace baton::app
