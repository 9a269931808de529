// batonctl and placement rules: get, check and set. The real program against a real gRPC server on
// a fake node.
#include <memory>
#include <string>
#include <vector>

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
using testing::SizeIs;

// n1 leads 0 and 1 in zone a, n2 leads 2 and 3, and n3 leads 4 and 5, both in zone b.
class BatonctlPlacement : public testing::Test {
 protected:
  BatonctlPlacement() {
    server_.control.Freeze(true);
    server_.control.Change([](NodeStatus& status) {
      status.members[0].fact.zone = "a";
      status.members[1].fact.zone = status.members[2].fact.zone = "b";
    });
  }
  // `rules` is the file, on stdin.
  Ran Placement(std::vector<std::string> words, const std::string& rules) {
    words.insert(words.begin(), "placement");
    RunOptions options = Ctl(server_.endpoint, words);
    options.input = rules;
    return RunProcess(options);
  }

  AdminServer server_{{"n1", "n2", "n3"}, 6};
};

const std::string kZoneB = "rules:\n  - shards: 0-2\n    require: {zone: b}\n";

// Plan: rules that are within each bound, but more than a node takes in one request.
TEST_F(BatonctlPlacement, RulesThatANodeWouldNotTakeAreRefusedWithOneLine) {
  std::string rules = "rules:\n";
  for (int rule = 0; rule < 64; ++rule) {
    rules += "  - shards: [0";
    for (int range = 1; range < 256; ++range) rules += ", " + std::to_string(900'000 + 2 * range);
    rules += "]\n";
  }
  const Ran refused = Placement({"set", "-"}, rules);
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, testing::MatchesRegex("batonctl: the request has [0-9]+ bytes, and a "
                                                 "node takes at most 65536: give fewer [^\n]*\n"));
}

// Plan: none, then rules, as YAML and as JSON; what get prints, set takes. `group get` counts them.
TEST_F(BatonctlPlacement, IsSetAndShown) {
  EXPECT_EQ(Batonctl(server_, {"placement", "get"}).out, "rules: []\n");
  const Ran set = Placement({"set", "-"}, kZoneB);
  EXPECT_EQ(set.exit, 0) << set.err;
  EXPECT_EQ(set.out, "set 1 placement rule\n");
  EXPECT_THAT(set.err, IsEmpty());
  EXPECT_EQ(server_.control.Now().placement,
            (baton::Placement{{.shards = {{0, 2}}, .require = {{"zone", {"b"}}}, .prefer = {}}}));
  const Ran get = Batonctl(server_, {"placement", "get"});
  EXPECT_EQ(get.out, kZoneB);
  EXPECT_EQ(Batonctl(server_, {"placement", "get", "-o", "yaml"}).out, kZoneB);
  const Ran json = Batonctl(server_, {"placement", "get", "-o", "json"});
  EXPECT_EQ(json.out, R"({"rules":[{"shards":["0-2"],"require":{"zone":["b"]}}]})"
                      "\n");
  const std::string already = "the group has these placement rules already: nothing ";
  EXPECT_EQ(Placement({"set", "-"}, get.out).out, already + "changes\n");
  EXPECT_EQ(Placement({"set", "-"}, json.out).exit, 0);
  EXPECT_EQ(Placement({"set", "-", "--dry-run"}, json.out).out, already + "would change\n");
  EXPECT_THAT(Batonctl(server_, {"group", "get"}).out,
              HasSubstr("placement 1 rule: see `batonctl placement get`\n"));
  EXPECT_THAT(Batonctl(server_, {"group", "get", "-o", "json"}).out,
              HasSubstr(R"("placement_rules":1,"config_schema":3})"));
  EXPECT_EQ(Placement({"set", "-", "-o", "json"}, "rules: []").out,
            R"({"result":"done","message":"set no placement rules","rules":0,"moves":0,)"
            R"("nobody_may_lead":0})"
            "\n");
  EXPECT_EQ(
      Placement({"set", "-", "-o", "json"}, "rules: []").out,
      R"({"result":"unchanged","message":"the group has no placement rules: nothing changes",)"
      R"("rules":0,"moves":0,"nobody_may_lead":0})"
      "\n");
  EXPECT_EQ(server_.control.Now().placement, baton::Placement{});
  EXPECT_THAT(server_.control.GroupChanges(), SizeIs(6)) << "asked for in any case";
}

// Plan: a dry run asks the node, too, and says what would move.
TEST_F(BatonctlPlacement, ADryRunSaysWhatWouldMove) {
  const Ran dry = Placement({"set", "--dry-run", "-"}, kZoneB);
  EXPECT_EQ(dry.exit, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("would set 1 placement rule; "));
  EXPECT_THAT(dry.out, HasSubstr("2 because a rule forbids their leader"));
  ASSERT_THAT(server_.control.GroupChanges(), SizeIs(1));
  EXPECT_TRUE(server_.control.GroupChanges()[0].dry_run);
  EXPECT_EQ(server_.control.Now().placement, baton::Placement{});
}

// Plan: shards 0 to 2 need zone b. The check says who is wanted, what each node would give and
// get, and why each shard moves; then it has changed nothing.
TEST_F(BatonctlPlacement, ACheckShowsWhatWouldMoveAndWhy) {
  const Ran check = Placement({"check", "-"}, kZoneB);
  EXPECT_EQ(check.exit, 0) << check.err;
  EXPECT_THAT(check.err, IsEmpty());
  EXPECT_THAT(check.out, HasSubstr("RULE  SHARDS  REQUIRE   MAY LEAD  WANTED NOW\n"
                                   "   1       3  zone=b           2  n2, n3\n"
                                   "   -       3  any node         3  -\n"));
  EXPECT_THAT(check.out, HasSubstr("NODE  LEADS  GIVES  GETS  THEN\n"));
  EXPECT_THAT(check.out, HasSubstr("2 because a rule forbids their leader"));
  const Ran wide = Placement({"check", "-", "-o", "wide"}, kZoneB);
  EXPECT_THAT(wide.out, HasSubstr("SHARD  FROM  TO  WHY           RULE\n"));
  EXPECT_THAT(wide.out, HasSubstr("  rule_forbids     1\n"));
  EXPECT_THAT(
      Placement({"check", "-", "-o", "json"}, kZoneB).out,
      HasSubstr(
          R"({"rules":[{"rule":1,"shards":3,"require":"zone=b","may_lead":2,)"
          R"("preference":null,"wanted":["n2","n3"],"standbys":0,"spread":null}],"without_rule":3,)"
          R"("nobody_may_lead":0,"nobody_may_lead_shards":[],"claims":0,"moves":[)"));
  EXPECT_THAT(server_.control.GroupChanges(), IsEmpty());
}

// Plan: zone a is preferred and n1 lives there; n1 drains; it is gone. Who is wanted follows the
// order of preference.
TEST_F(BatonctlPlacement, ACheckNamesThePreferenceThatCounts) {
  const std::string rules = "rules: [{prefer: [{zone: a}, {zone: c}, {node: n3}]}]";
  EXPECT_THAT(Placement({"check", "-"}, rules).out,
              HasSubstr("   1       6  any node         3  n1 (zone=a)\n"));
  EXPECT_THAT(Placement({"check", "-"}, rules).out,
              HasSubstr("4 shards would move: 4 because a rule prefers others\n"));
  server_.control.Change([](NodeStatus& status) { status.members[0].drained_by_policy = true; });
  EXPECT_THAT(Placement({"check", "-"}, rules).out,
              HasSubstr("   1       6  any node         3  n3 (node=n3)\n"));
}

// Plan: nobody in the group is n9. The check says which shards that concerns, with an exit code of
// its own. The rules are set all the same, after the same words.
TEST_F(BatonctlPlacement, RulesThatNobodyFitsAreNamed) {
  const std::string pins = "rules:\n  - shards: 1, 3-4\n    node: n9\n";
  const std::string words =
      "batonctl: rule 1 (node=n9) lets no live node begin to lead its 3 shards\n"
      "batonctl: nobody may begin to lead 3 shards: 1, 3-4\n";
  const Ran check = Placement({"check", "-"}, pins);
  EXPECT_EQ(check.exit, 6);
  EXPECT_EQ(check.err, words);
  EXPECT_THAT(check.out, HasSubstr("   1       3  node=n9          0  nobody\n"));
  EXPECT_THAT(check.out, HasSubstr("nothing would move\n")) << "sitting leaders stay";
  const Ran dry = Placement({"set", "--dry-run", "-"}, pins);
  EXPECT_EQ(dry.exit, 6) << "as of check";
  EXPECT_EQ(dry.out, "would set 1 placement rule; nothing would move\n");
  EXPECT_EQ(dry.err, words + "batonctl: leaders that these shards have now go on leading them\n");
  const Ran set = Placement({"set", "-"}, pins);
  EXPECT_EQ(set.exit, 0);
  EXPECT_EQ(set.err, words + "batonctl: leaders that these shards have now go on leading them\n");
  EXPECT_THAT(server_.control.Now().placement, SizeIs(1));
}

// Plan: a label's name has one letter too many. Each verb says so, with the exit code 0.
TEST_F(BatonctlPlacement, LabelsThatNoNodeHasAreNamed) {
  for (const std::string rules :
       {"rules: [{standbys: 1, spread: zonee}]", "rules: [{prefer: [{zonee: a}, {zone: b}]}]"}) {
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
             {"check", "-"}, {"set", "--dry-run", "-"}, {"set", "-"}}) {
      const Ran ran = Placement(verb, rules);
      EXPECT_EQ(ran.exit, 0);
      EXPECT_EQ(ran.err,
                "batonctl: rule 1 names label zonee, which no live node has; did you mean "
                "\"zone\"?\n");
    }
  }
}

// Plan: balance is paused. What rules and losses would move says what waits.
TEST_F(BatonctlPlacement, MovesThatWaitForTheEndOfAPauseAreNamed) {
  server_.control.Change([](NodeStatus& status) {
    status.paused = true;
    status.shards[2].leader = status.shards[3].leader = "n1";
  });
  const std::string rules = "rules: [{prefer: [{node: n3}]}]";
  const Ran check = Placement({"check", "-"}, rules);
  EXPECT_EQ(check.exit, 0);
  EXPECT_EQ(check.err,
            "batonctl: balance is paused: 4 of these moves wait for `batonctl resume`\n");
  EXPECT_EQ(Placement({"set", "--dry-run", "-"}, rules).err, check.err);
  EXPECT_THAT(Placement({"set", "-"}, rules).err, IsEmpty());
  const Ran lost = Batonctl(server_, {"rebalance", "simulate", "--without", "node=n3"});
  EXPECT_EQ(lost.exit, 0);
  EXPECT_THAT(lost.out, HasSubstr("then 1 shard would move: 1 to spread shards evenly\n"));
  EXPECT_EQ(lost.err,
            "batonctl: balance is paused: 1 of these moves waits for `batonctl resume`\n");
}

// Plan: the node has not read etcd yet. Nothing is known of what rules would do.
TEST_F(BatonctlPlacement, WithoutAViewNothingIsForeseen) {
  server_.control.Change([](NodeStatus& status) { status.members.clear(); });
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"check", "-"}, {"set", "--dry-run", "-"}}) {
    const Ran ran = Placement(verb, kZoneB);
    EXPECT_EQ(ran.exit, 3);
    EXPECT_EQ(ran.err, "batonctl: the node's view is not complete yet\n");
    EXPECT_THAT(ran.out, IsEmpty());
  }
}

// Plan: a file that is wrong or missing is refused without a call.
TEST_F(BatonctlPlacement, WrongFilesAreRefusedWithoutACall) {
  for (const char* verb : {"check", "set"}) {
    const Ran wrong = Placement({verb, "-"}, "rules:\n  - spreads: zone\n");
    EXPECT_EQ(wrong.exit, 2);
    EXPECT_EQ(wrong.err,
              "batonctl: stdin:2: unknown key \"spreads\"; expected shards, require, prefer, node, "
              "standbys or spread; did you mean \"spread\"?\n");
    EXPECT_THAT(wrong.out, IsEmpty());
    EXPECT_EQ(Batonctl(server_, {"placement", verb, "/nowhere/rules.yaml"}).exit, 2);
    EXPECT_EQ(Batonctl(server_, {"placement", verb}).exit, 2);
  }
  EXPECT_THAT(server_.control.GroupChanges(), IsEmpty());
}

// Plan: a rule below one that names all of its shards, and two that name shards which the group
// does not have.
TEST_F(BatonctlPlacement, RulesThatCountForNoShardAreNamed) {
  const std::string rules =
      "rules: [{shards: 0-2, node: n1}, {shards: 1, node: n2}, {shards: 4-7, node: n2}, "
      "{shards: '100, 200', node: n3}]";
  const std::string words =
      "batonctl: rule 2 counts for no shard: earlier rules name all of its\n"
      "batonctl: rule 3 names shards 4-7, the group has 0 to 5\n"
      "batonctl: rule 4 names shards 100, 200, the group has 0 to 5\n";
  for (const char* verb : {"check", "set"}) {
    const Ran ran = Placement({verb, "-"}, rules);
    EXPECT_EQ(ran.exit, 0);
    EXPECT_EQ(ran.err, words);
  }
}

// Plan: the node says why rules can't be set. What they would do is not said.
TEST_F(BatonctlPlacement, TheNodesRefusalIsTheAnswer) {
  server_.control.FailAll(Error{ErrorCode::kFailedPrecondition, "n2 would not keep to them"});
  const Ran refused = Placement({"set", "-"}, "rules: [{node: n9}]");
  EXPECT_EQ(refused.exit, 6);
  EXPECT_EQ(refused.err, "batonctl: n2 would not keep to them\n");
}

// Plan: a shard that nobody may lead, and one whose leader a rule forbids: tables, JSON and health.
TEST_F(BatonctlPlacement, ShardsSayWhichRuleKeepsThem) {
  server_.control.Change([](NodeStatus& status) {
    status.shards[4].leader = "";
    status.shards[4].term = Term{};
    status.shards[4].state = ShardState::kLeaderless;
    status.shards[4].rule = 2;
    status.shards[4].nobody_may_lead = true;
    status.shards[5].rule = 1;
    status.shards[5].led_against_rule = true;
    status.nobody_may_lead = status.led_against_rules = 1;
    status.placement.assign(2, {});
    status.placement[1].require = {{"node", {"n9"}}};
  });
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "4"}).out,
              HasSubstr("rule 2 lets nobody here lead it"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "5"}).out,
              HasSubstr("rule 1 forbids its leader"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "4", "-o", "json"}).out,
              HasSubstr(R"("rule":2,"nobody_may_lead":true,"led_against_rule":false,)"));
  EXPECT_THAT(Batonctl(server_, {"status"}).out,
              AllOf(HasSubstr("1 shard without a leader (1 that no live node may lead, by rule 2 "
                              "(node=n9))"),
                    HasSubstr("placement 1 shard has a leader that may not begin to lead, by rule "
                              "1 (any node)\n")));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out,
              AllOf(HasSubstr(R"("nobody_may_lead":1,"led_against_rules":1,)"),
                    HasSubstr(R"("rules_not_kept":[{"rule":1,"require":"any node",)"),
                    HasSubstr(R"({"rule":2,"require":"node=n9","nobody_may_lead":1,)")));
}

// Plan: a rule asks for two standbys in different racks, and no node has a rack. Shard 3 has one
// standby, which is ready. Shard 4 has two.
TEST_F(BatonctlPlacement, StatusNamesTheRulesWhoseStandbysFallShort) {
  server_.control.Change([](NodeStatus& status) {
    status.placement = {
        {.shards = {}, .require = {}, .prefer = {}, .standbys = 2, .spread = "rack"}};
    std::vector<runtime::StandbyStatus> standbys = {{"n1", "", true}, {"n2", "", true}};
    for (std::size_t shard : {4, 3}) {
      status.shards[shard].rule = 1;
      status.shards[shard].leader = "n3";
      status.shards[shard].standbys =
          std::make_shared<const std::vector<runtime::StandbyStatus>>(standbys);
      standbys.pop_back();
    }
  });
  EXPECT_THAT(
      Batonctl(server_, {"status"}).out,
      HasSubstr("placement 1 shard has fewer standbys than asked for, by rule 1 (any node)\n"
                "placement 2 shards have a leader and standbys that share a value of the "
                "label of `spread`, by rule 1 (any node)\n"));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out,
              HasSubstr(R"("rules_not_kept":[{"rule":1,"require":"any node","nobody_may_lead":0,)"
                        R"("led_against_rule":0,"without_ready_standby":0,"fewer_standbys":1,)"
                        R"("fewer_ready_standbys":0,"not_apart":2}])"));
}

// Plan: no shard has standbys; then one has two, and another one lacks them.
TEST_F(BatonctlPlacement, ShardsShowWhoStandsByForThem) {
  EXPECT_THAT(Batonctl(server_, {"shards", "list"}).out, Not(HasSubstr("STANDBYS")));
  EXPECT_THAT(Batonctl(server_, {"status"}).out, Not(HasSubstr("standby")));
  server_.control.Change([](NodeStatus& status) {
    status.shards[1].standbys = std::make_shared<const std::vector<runtime::StandbyStatus>>(
        std::vector<runtime::StandbyStatus>{{"n3", "127.0.0.1:7403", true}, {"n9", "", false}});
    status.shards[2].without_ready_standby = true;
    status.shards[2].rule = 1;
    status.without_ready_standby = 1;
  });
  const std::string list = Batonctl(server_, {"shards", "list"}).out;
  EXPECT_THAT(list, HasSubstr("STANDBYS"));
  EXPECT_THAT(list, HasSubstr("n3 ready, n9 not ready"));
  EXPECT_THAT(list, HasSubstr("no node"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "1"}).out,
              HasSubstr("standby: n3 ready\nstandby: n9 not ready\n"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "2"}).out, HasSubstr("standby: no node\n"));
  EXPECT_THAT(Batonctl(server_, {"shards", "list", "-o", "json"}).out,
              HasSubstr(R"("standbys":[{"node":"n3","address":"127.0.0.1:7403","ready":true},)"));
  EXPECT_THAT(Batonctl(server_, {"shards", "describe", "2", "-o", "json"}).out,
              HasSubstr(R"("standbys":[],"without_ready_standby":true)"));
  EXPECT_THAT(Batonctl(server_, {"status"}).out,
              HasSubstr("1 shard has no ready standby, by rule 1\n"));
  EXPECT_THAT(
      Batonctl(server_, {"status", "-o", "json"}).out,
      HasSubstr(R"("without_ready_standby":1,"without_ready_standby_ms":0,"standing_by":0,)"));
}

// Plan: "order-4711" belongs to shard 1. The answer about a shard names its standbys; the members
// say where they are, and n9 is not one of them.
TEST_F(BatonctlPlacement, ALookupShowsWhoStandsBy) {
  EXPECT_THAT(Batonctl(server_, {"lookup", "order-4711"}).out, Not(HasSubstr("standbys")));
  server_.control.Change([](NodeStatus& status) {
    status.shards[1].standbys = std::make_shared<const std::vector<runtime::StandbyStatus>>(
        std::vector<runtime::StandbyStatus>{{"n3", "127.0.0.1:7403", true}, {"n9", "", false}});
  });
  EXPECT_THAT(Batonctl(server_, {"lookup", "order-4711", "-o", "json"}).out,
              HasSubstr(R"("standbys":[{"node":"n3","address":"127.0.0.1:7403","ready":true},)"
                        R"({"node":"n9","address":null,"ready":false}]})"));
  EXPECT_THAT(Batonctl(server_, {"lookup", "order-4711"}).out,
              HasSubstr("standbys: n3 (127.0.0.1:7403, ready), n9 (no address, not ready)\n"));
}

// Plan: zone a is n1 alone. Its two shards go to zone b, which the rule allows; nothing is changed.
// Then a rule needs zone a, and the exit code says that its shards would have no leader.
TEST_F(BatonctlPlacement, ASimulationSaysWhoWouldLeadWhat) {
  ASSERT_EQ(Placement({"set", "-"}, "rules: [{prefer: [{zone: a}, {zone: b}]}]").exit, 0);
  const std::vector<std::string> verb = {"rebalance", "simulate", "--without", "zone=a"};
  const Ran simulated = Batonctl(server_, verb);
  EXPECT_EQ(simulated.exit, 0) << simulated.err;
  EXPECT_THAT(simulated.err, IsEmpty());
  EXPECT_EQ(simulated.out,
            "without zone=a: n1; 2 nodes left\n"
            "2 shards would be claimed as soon as leases end\n"
            "\n"
            "LED BY  COUNT  SHARDS\n"
            "n2          1  0\n"
            "n3          1  1\n"
            "\n"
            "NODE  WEIGHT  LEADS  SHARE  GIVES  GETS  THEN  SHARE THEN\n"
            "n1         1      2  33.3%      -     -  away           -\n"
            "n2         1      2  33.3%      0     1     3       50.0%\n"
            "n3         1      2  33.3%      0     1     3       50.0%\n"
            "\n"
            "RULE  LED BY                NOW  THEN\n"
            "   1  preference 1: zone=a    2     0\n"
            "   1  preference 2: zone=b    4     6\n"
            "\n"
            "then nothing would move\n");
  ASSERT_EQ(Placement({"set", "-"}, "rules: [{shards: 0-1, require: {zone: a}}]").exit, 0);
  const Ran nobody = Batonctl(
      server_, {"rebalance", "simulate", "--without=node=n1", "--without=node=n3", "-o", "json"});
  EXPECT_EQ(nobody.exit, 6);
  EXPECT_EQ(nobody.err, "batonctl: rule 1 (zone=a) would let nobody lead 2 shards: 0-1\n");
  EXPECT_EQ(
      nobody.out,
      R"({"without":["node=n1","node=n3"],"away":["n1","n3"],"failover":"immediate",)"
      R"("failover_delay_ms":null,"lock_delay_ms":0,)"
      R"("claims":[{"shard":4,"from":"n3","to":"n2","why":"has_room","rule":null,)"
      R"("ready_standby":false},)"
      R"({"shard":5,"from":"n3","to":"n2","why":"has_room","rule":null,"ready_standby":false}],)"
      R"("claims_by_ready_standbys":null,"moves":[],"nodes":[)"
      R"({"node":"n1","away":true,"weight":1,"leads":2,"gives":2,"gets":0,"then":0},)"
      R"({"node":"n2","away":false,"weight":1,"leads":2,"gives":0,"gets":2,"then":4},)"
      R"({"node":"n3","away":true,"weight":1,"leads":2,"gives":2,"gets":0,"then":0}],)"
      R"("rules":[{"rule":1,"shards":2,"require":"zone=a","may_lead":0,"preference":null,)"
      R"("wanted":[],"standbys":0,"spread":null,"led_now":{"by_preference":[],"by_others":2,)"
      R"("against_rule":0,"by_nobody":0,"fewer_standbys":0,"not_apart":0},)"
      R"("led_then":{"by_preference":[],"by_others":0,"against_rule":0,"by_nobody":2,)"
      R"("fewer_standbys":0,"not_apart":0}}],)"
      R"("without_rule":4,"leaderless":2,"leaderless_shards":[{"why":"rule_forbids","rule":1,)"
      R"("count":2,"shards":["0-1"]}]})"
      "\n");
  EXPECT_THAT(server_.control.GroupChanges(), SizeIs(2)) << "the two of set";
  EXPECT_THAT(Batonctl(server_, {"rebalance", "simulate", "--without", "zone=b", "-o", "wide"}).out,
              HasSubstr("SHARD  LED BY  THEN  RULE\n    2  n2      n1       -\n"));
}

// Plan: rules with standbys come back as they were set, and the check shows them and names what the
// group is too small for. The exit code is 0: these shards have leaders.
TEST_F(BatonctlPlacement, StandbysAreSetAndChecked) {
  const std::string rules =
      "rules:\n  - shards: 0-2\n    standbys: 2\n    spread: zone\n  - standbys: 3\n";
  const Ran check = Placement({"check", "-"}, rules);
  EXPECT_EQ(check.exit, 0);
  EXPECT_EQ(check.err,
            "batonctl: rule 2 asks for 3 standbys, but only 3 live nodes may lead or stand by for "
            "its 3 shards\n");
  EXPECT_THAT(check.out, HasSubstr("RULE  SHARDS  REQUIRE   MAY LEAD  WANTED NOW  STANDBYS\n"
                                   "   1       3  any node         3  n1, n2, n3  2 by zone\n"
                                   "   2       3  any node         3  n1, n2, n3  3\n"));
  const Ran set = Placement({"set", "-"}, rules);
  EXPECT_EQ(set.exit, 0);
  EXPECT_EQ(set.err, check.err);
  EXPECT_EQ(Batonctl(server_, {"placement", "get"}).out, rules);
}

// Plan: words that name no label, and a label that no node has.
TEST_F(BatonctlPlacement, ASimulationNeedsNodesToTakeAway) {
  EXPECT_EQ(Batonctl(server_, {"rebalance", "simulate"}).exit, 2);
  const Ran wrong = Batonctl(server_, {"rebalance", "simulate", "--without", "n1"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("\"n1\" is no label with a value; give LABEL=VALUE"));
  const Ran nobody = Batonctl(server_, {"rebalance", "simulate", "--without", "zone=q"});
  EXPECT_EQ(nobody.exit, 4);
  EXPECT_EQ(nobody.err, "batonctl: no live node has zone=q; zone of live nodes: a, b\n");
}

}  // namespace
}  // namespace baton::app
