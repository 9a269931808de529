// The pure part of batonctl plan: whole answers, and one error line for each bad input.
#include "app/ctl/plan_state.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/placement.h"
#include "base/text_rules.h"

namespace baton::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Answer(std::string_view state) {
  const Result<std::string> answer = PlanFromState(state);
  return answer ? answer.value() : "error: " + answer.error().message;
}

TEST(PlanState, ClaimsVacanciesThenMovesTheRest) {
  // Shards 4 and 5 are vacant (null, absent); c has just joined.
  EXPECT_EQ(Answer(R"({"shards":6,
                       "nodes":[{"id":"a","weight":1,"state":"active"},{"id":"b"},{"id":"c"}],
                       "leaders":{"0":"a","1":"a","2":"a","3":"b","4":null}})"),
            R"({"claims":[{"shard":4,"to":"b"},{"shard":5,"to":"c"}],)"
            R"("moves":[{"shard":0,"from":"a","to":"c","reason":"rebalance"}],)"
            R"("before":{"a":3,"b":1},"after":{"a":2,"b":2,"c":2}})");
}

TEST(PlanState, SharesOutAColdStartByWeight) {
  EXPECT_EQ(Answer(R"({"shards":4,"nodes":[{"id":"b","weight":3},{"id":"a"}]})"),
            R"({"claims":[{"shard":0,"to":"a"},{"shard":1,"to":"b"},{"shard":2,"to":"b"},)"
            R"({"shard":3,"to":"b"}],"moves":[],"before":{},"after":{"a":1,"b":3}})");
}

TEST(PlanState, DrainsWithinTheLimit) {
  EXPECT_EQ(Answer(R"({"shards":3,"nodes":[{"id":"a","state":"draining"},{"id":"b"}],
                       "leaders":{"0":"a","1":"a","2":"a"},"limits":{"max_moves":2}})"),
            R"({"claims":[],"moves":[{"shard":0,"from":"a","to":"b","reason":"drain"},)"
            R"({"shard":1,"from":"a","to":"b","reason":"drain"}],)"
            R"("before":{"a":3},"after":{"a":1,"b":2}})");
}

TEST(PlanState, TreatsDeadAndUnknownLeadersAsVacancies) {
  EXPECT_EQ(Answer(R"({"shards":3,"nodes":[{"id":"a"},{"id":"z","state":"dead"}],
                       "leaders":{"0":"a","1":"z","2":"who was that?"},"limits":{}})"),
            R"({"claims":[{"shard":1,"to":"a"},{"shard":2,"to":"a"}],"moves":[],)"
            R"("before":{"a":1},"after":{"a":3}})");
}

TEST(PlanState, PlansNothingWithoutCandidates) {
  EXPECT_EQ(Answer(R"({"shards":2,"nodes":[],"leaders":{"0":"a"}})"),
            R"({"claims":[],"moves":[],"before":{},"after":{}})");
  EXPECT_EQ(Answer(R"({"shards":2,"nodes":[{"id":"a","weight":0}],"leaders":{"0":"a"}})"),
            R"({"claims":[],"moves":[],"before":{"a":1},"after":{"a":1}})");
}

TEST(PlanState, AnswersTheSameForAnyOrderOfNodes) {
  const std::string leaders = R"("leaders":{"0":"b","1":"b","2":"b","5":"a"}})";
  EXPECT_EQ(Answer(R"({"shards":9,"nodes":[{"id":"a"},{"id":"b"},{"id":"c"}],)" + leaders),
            Answer(R"({"shards":9,"nodes":[{"id":"c"},{"id":"a"},{"id":"b"}],)" + leaders));
}

// Plan: shards 0 to 2 need zone x, and two of them lie elsewhere; shard 3 has only a pin to a node
// that is not there, and shard 4 prefers a node with a label. Claims, moves and the rest say which
// rule counts.
TEST(PlanState, KeepsToPlacementRules) {
  EXPECT_EQ(
      Answer(R"({"shards":6,
                 "nodes":[{"id":"a","zone":"x"},{"id":"b","zone":"y","labels":{"disk":"ssd"}},
                          {"id":"c"}],
                 "leaders":{"0":"a","1":"b","3":"c","4":"c","5":"c"},
                 "placement":{"rules":[{"shards":["0-2"],"require":{"zone":["x"]}},
                                       {"shards":["3"],"require":{"node":["z"]}},
                                       {"shards":["4"],"prefer":[{"disk":["nvme","ssd"]}]}]}})"),
      R"({"claims":[{"shard":2,"to":"a","why":"rule_requires","rule":1}],"moves":[)"
      R"({"shard":1,"from":"b","to":"a","reason":"rebalance","why":"rule_forbids","rule":1},)"
      R"({"shard":4,"from":"c","to":"b","reason":"rebalance","why":"rule_prefers","rule":3}],)"
      R"("before":{"a":1,"b":1,"c":3},"after":{"a":3,"b":1,"c":2},)"
      R"("nobody_may_lead":[{"rule":2,"require":"node=z","shards":["3"]}]})");
}

// Plan: vacancies of a rule that fits nobody stay vacant, and are named in ranges; with all nodes
// gone nobody may lead those without a rule either. With no rules in `placement`, none is named.
TEST(PlanState, NamesShardsThatNobodyMayLead) {
  const std::string rules =
      R"("placement":{"rules":[{"shards":[0,"2-3"],"require":{"zone":"q","disk":["a","b"]}}]}})";
  EXPECT_EQ(Answer(R"({"shards":5,"nodes":[{"id":"a","zone":"x"}],)" + rules),
            R"({"claims":[{"shard":1,"to":"a","why":"has_room","rule":null},)"
            R"({"shard":4,"to":"a","why":"has_room","rule":null}],)"
            R"("moves":[],"before":{},"after":{"a":2},"nobody_may_lead":[)"
            R"({"rule":1,"require":"zone=q, disk=a|b","shards":["0","2-3"]}]})");
  EXPECT_EQ(Answer(R"({"shards":5,"nodes":[{"id":"a","state":"dead"}],)" + rules),
            R"({"claims":[],"moves":[],"before":{},"after":{},"nobody_may_lead":[)"
            R"({"rule":null,"require":"any node","shards":["1","4"]},)"
            R"({"rule":1,"require":"zone=q, disk=a|b","shards":["0","2-3"]}]})");
  EXPECT_EQ(
      Answer(R"({"shards":1,"nodes":[{"id":"a"}],"placement":{"rules":[]}})"),
      R"({"claims":[{"shard":0,"to":"a","why":"has_room","rule":null}],"moves":[],"before":{},)"
      R"("after":{"a":1},"nobody_may_lead":[]})");
}

// Plan: b is ready for all shards and gets the vacancies that have a rule with standbys. Shard 3
// has none, and 2 is led.
TEST(PlanState, GivesVacanciesToReadyStandbys) {
  const std::string state =
      R"({"shards":4,"nodes":[{"id":"a"},{"id":"b"},{"id":"z","state":"dead"}],)"
      R"("leaders":{"2":"b"},"ready":{"0":["z","b"],"1":["b"],"2":["a"],"3":["b","who?"]})";
  EXPECT_EQ(
      Answer(state + R"(,"placement":{"rules":[{"shards":["0-2"],"standbys":1}]}})"),
      R"({"claims":[{"shard":0,"to":"b","why":"ready_standby","rule":1,"ready_standby":true},)"
      R"({"shard":1,"to":"b","why":"ready_standby","rule":1,"ready_standby":true},)"
      R"({"shard":3,"to":"a","why":"has_room","rule":null,"ready_standby":false}],"moves":[)"
      R"({"shard":0,"from":"b","to":"a","reason":"rebalance","why":"balance","rule":1}],)"
      R"("before":{"b":1},"after":{"a":2,"b":2},"nobody_may_lead":[]})");
  EXPECT_EQ(Answer(state + "}"), R"({"claims":[{"shard":0,"to":"a","ready_standby":false},)"
                                 R"({"shard":1,"to":"a","ready_standby":false},)"
                                 R"({"shard":3,"to":"b","ready_standby":false}],"moves":[],)"
                                 R"("before":{"b":1},"after":{"a":2,"b":2}})");
}

TEST(PlanState, TakesTheLargestState) {
  // A million shards over ten thousand nodes: one hundred each.
  std::string nodes;
  for (std::uint32_t n = 0; n < kMaxPlanNodes; ++n) {
    nodes += (n == 0 ? "{\"id\":\"n" : ",{\"id\":\"n") + std::to_string(n) + "\"}";
  }
  const std::string answer = Answer(R"({"shards":1000000,"nodes":[)" + nodes + "]}");
  EXPECT_THAT(answer.substr(answer.size() - 50), HasSubstr(R"("n9999":100}})"));
  EXPECT_THAT(Answer(R"({"shards":1,"nodes":[)" + nodes + R"(,{"id":"more"}]})"),
              "error: nodes: has 10001 nodes; expected at most 10000");
}

struct BadState {
  std::string json;
  std::string line;
};

void ExpectEachRefused(const std::vector<BadState>& table) {
  for (const BadState& bad : table) {
    const Result<std::string> answer = PlanFromState(bad.json);
    ASSERT_FALSE(answer.ok()) << bad.json;
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument) << bad.json;
    EXPECT_EQ(answer.error().message, bad.line) << bad.json;
    EXPECT_THAT(answer.error().message, Not(HasSubstr("\n"))) << bad.json;
  }
}

TEST(PlanState, AnswersBadInputWithOneLineThatNamesPathFaultAndExpectation) {
  const std::string number = "a whole number from ";
  const std::string id = kNameRule;
  const std::vector<BadState> table = {
      {"", "line 1, column 1: not JSON (incomplete JSON)"},
      {"{\n \"shards\": }", "line 2, column 12: not JSON (syntax error)"},
      {R"({"shards":1,"nodes":[]} {})",
       "line 1, column 25: more text; expected the end of the document"},
      {R"({"shards":1,"shards":2})",
       R"(line 1, column 20: key "shards" is repeated; expected it once)"},
      {R"({"shards":2,"nodes":[],"leaders":{"0":"a","0":"b"}})",
       R"(line 1, column 45: key "0" is repeated; expected it once)"},
      {R"({"a\nb":1,"a\nb":2})", R"(line 1, column 16: key "a\nb" is repeated; expected it once)"},
      {"[]", R"(document: is an array; expected an object with "shards" and "nodes")"},
      {R"({"shards":1,"nodes":[],"pins":{}})",
       R"(document: field "pins" is not known; )"
       "expected only these: shards, nodes, leaders, ready, placement, limits"},
      {R"({"nodes":[]})", "shards: is missing; expected the number of shards"},
      {R"({"shards":"12","nodes":[]})", "shards: is \"12\"; expected " + number + "1 to 1000000"},
      {R"({"shards":0,"nodes":[]})", "shards: is 0; expected " + number + "1 to 1000000"},
      {R"({"shards":1000001,"nodes":[]})",
       "shards: is 1000001; expected " + number + "1 to 1000000"},
      {R"({"shards":1.5,"nodes":[]})", "shards: is 1.5E0; expected " + number + "1 to 1000000"},
      {R"({"shards":1})", "nodes: is missing; expected an array of nodes"},
      {R"({"shards":1,"nodes":{}})", "nodes: is an object; expected an array of nodes"},
      {R"({"shards":1,"nodes":["a"]})", R"(nodes[0]: is "a"; expected an object with an "id")"},
      {R"({"shards":1,"nodes":[{"id":"a"},{}]})", "nodes[1].id: is missing; expected " + id},
      {R"({"shards":1,"nodes":[{"id":7}]})", "nodes[0].id: is 7; expected " + id},
      {R"({"shards":1,"nodes":[{"id":"a b"}]})", "nodes[0].id: is \"a b\"; expected " + id},
      {R"({"shards":1,"nodes":[{"id":".."}]})", "nodes[0].id: is \"..\"; expected " + id},
      {R"({"shards":1,"nodes":[{"id":""}]})", "nodes[0].id: is \"\"; expected " + id},
      {R"({"shards":1,"nodes":[{"id":")" + std::string(129, 'x') + R"("}]})",
       "nodes[0].id: is \"" + std::string(39, 'x') + "...; expected " + id},
      {R"({"shards":1,"nodes":[{"id":"a"},{"id":"a","state":"dead"}]})",
       R"(nodes[1].id: is "a" again; expected each id once)"},
      {R"({"shards":1,"nodes":[{"id":"a","rack":"x"}]})",
       R"(nodes[0]: field "rack" is not known; )"
       "expected only these: id, weight, state, zone, labels"},
      {R"({"shards":1,"nodes":[{"id":"a","zone":"x y"}]})",
       "nodes[0].zone: is \"x y\"; expected " + id},
      {R"({"shards":1,"nodes":[{"id":"a","labels":["x"]}]})",
       "nodes[0].labels: is an array; expected an object of labels"},
      {R"({"shards":1,"nodes":[{"id":"a","labels":{"Disk":"ssd"}}]})",
       R"(nodes[0].labels: has "Disk"; expected )" + std::string(kLabelNameRule)},
      {R"({"shards":1,"nodes":[{"id":"a","labels":{"disk":7}}]})",
       "nodes[0].labels.disk: is 7; expected " + id},
      {R"({"shards":1,"nodes":[{"id":"a","labels":{"zone":"x"}}]})",
       "nodes[0].labels: label 'zone' is the node's zone already; leave it out"},
      {R"({"shards":1,"nodes":[{"id":"a","weight":-1}]})",
       "nodes[0].weight: is -1; expected " + number + "0 to 4294967295"},
      {R"({"shards":1,"nodes":[{"id":"a","weight":null}]})",
       "nodes[0].weight: is null; expected " + number + "0 to 4294967295"},
      {R"({"shards":1,"nodes":[{"id":"a","state":"asleep"}]})",
       R"(nodes[0].state: is "asleep"; expected "active", "draining" or "dead")"},
      {R"({"shards":1,"nodes":[],"leaders":[]})",
       "leaders: is an array; expected an object of shard numbers and node ids"},
      {R"({"shards":2,"nodes":[],"leaders":{"2":"a"}})",
       R"(leaders: "2" is not one of the shards; expected numbers from "0" to "1")"},
      {R"({"shards":2,"nodes":[],"leaders":{"01":"a"}})",
       R"(leaders: "01" is not one of the shards; expected numbers from "0" to "1")"},
      {R"({"shards":2,"nodes":[],"leaders":{"-1":"a"}})",
       R"(leaders: "-1" is not one of the shards; expected numbers from "0" to "1")"},
      {R"({"shards":2,"nodes":[],"leaders":{"":"a"}})",
       R"(leaders: "" is not one of the shards; expected numbers from "0" to "1")"},
      {R"({"shards":2,"nodes":[],"leaders":{"1":3}})",
       R"(leaders["1"]: is 3; expected a node's id or null)"},
      {R"({"shards":2,"nodes":[],"ready":[]})",
       "ready: is an array; expected an object of shard numbers and lists of nodes"},
      {R"({"shards":2,"nodes":[],"ready":{"2":[]}})",
       R"(ready: "2" is not one of the shards; expected numbers from "0" to "1")"},
      {R"({"shards":2,"nodes":[],"ready":{"1":"a"}})",
       R"(ready["1"]: is "a"; expected an array of node ids)"},
      {R"({"shards":2,"nodes":[],"ready":{"1":[3]}})",
       R"(ready["1"]: has 3; expected an array of node ids)"},
      {R"({"shards":2,"nodes":[],"limits":10})",
       R"(limits: is 10; expected an object with "max_moves")"},
      {R"({"shards":2,"nodes":[],"limits":{"max_in_flight":3}})",
       R"(limits: field "max_in_flight" is not known; expected only max_moves)"},
      {R"({"shards":2,"nodes":[],"limits":{"max_moves":-3}})",
       "limits.max_moves: is -3; expected " + number + "0 to 4294967295"},
      {R"({"shards":2,"nodes":[],"new\nline":1})",
       R"(document: field "new\nline" is not known; )"
       "expected only these: shards, nodes, leaders, ready, placement, limits"},
      {std::string(100, '[') + std::string(100, ']'), "line 1, column 33: not JSON (too deep)"},
  };
  ExpectEachRefused(table);
}

TEST(PlanState, AnswersBadRulesInTheSameWay) {
  ExpectEachRefused({
      {R"({"shards":1,"nodes":[],"placement":[]})",
       "placement: is an array; expected an object with \"rules\", as `placement get -o json` "
       "prints it"},
      {R"({"shards":1,"nodes":[],"placement":{}})",
       "placement.rules: is missing; expected an array of rules"},
      {R"({"shards":1,"nodes":[],"placement":{"rules":[],"standbys":1}})",
       R"(placement: field "standbys" is not known; expected only rules)"},
      {R"({"shards":1,"nodes":[],"placement":{"rules":{}}})",
       "placement.rules: is an object; expected an array of rules"},
      {R"({"shards":1,"nodes":[],"placement":{"rules":[{},{"spread":"zone"}]}})",
       "placement.rules[1]: spread needs standbys; give standbys, too"},
      {R"({"shards":1,"nodes":[],"placement":{"rules":[{"spreads":"zone"}]}})",
       R"(placement.rules[0]: unknown key "spreads"; expected shards, require, prefer, node, )"
       R"(standbys or spread; did you mean "spread"?)"},
      {R"({"shards":1,"nodes":[],"placement":{"rules":[{"shards":["3-1"]}]}})",
       "placement.rules[0]: shards: shards 3-1 are no range; give the lower number first, and none "
       "above 999999"},
      {R"({"shards":1,"nodes":[],"placement":{"rules":[{"require":{"version":1.5}}]}})",
       "placement.rules[0]: has a fraction or a truth; expected texts as values"},
  });
}

}  // namespace
}  // namespace baton::app
