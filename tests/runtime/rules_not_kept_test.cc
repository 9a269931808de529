// Which placement rules a status shows as not kept, by number and by what is wrong.
#include "runtime/rules_not_kept.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace baton::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

MemberStatus InZone(const NodeId& node, const std::string& zone) {
  MemberStatus member;
  member.fact.node = node;
  member.fact.zone = zone;
  return member;
}

// n1 leads shards 0 to 3, in zone a; n2 is in zone a, too, n3 in zone b. Rule 1 counts for shards 0
// and 1, rule 2 for the others; both want two standbys in different zones.
class RulesNotKeptTest : public testing::Test {
 protected:
  RulesNotKeptTest() {
    status_.members = {InZone("n1", "a"), InZone("n2", "a"), InZone("n3", "b")};
    PlacementRule rule;
    rule.standbys = 2;
    status_.placement = {rule, rule};
    status_.shard_count = 4;
    status_.shards.resize(4);
    for (std::uint32_t s = 0; s < 4; ++s) {
      status_.shards[s].shard = ShardId{s};
      status_.shards[s].leader = "n1";
      status_.shards[s].rule = s / 2 + 1;
      StandBy(s, {{"n2", "", true}, {"n3", "", true}});
    }
  }
  void StandBy(std::size_t shard, std::vector<StandbyStatus> standbys) {
    status_.shards[shard].standbys =
        std::make_shared<const std::vector<StandbyStatus>>(std::move(standbys));
  }

  NodeStatus status_;
};

// Plan: all rules are kept; then there are no shards.
TEST_F(RulesNotKeptTest, AreNoneIfAllIsWell) {
  EXPECT_THAT(FindRulesNotKept(status_), IsEmpty());
  status_.shards[0].rule = 0;
  StandBy(0, {});
  EXPECT_THAT(FindRulesNotKept(status_), IsEmpty()) << "no rule asks for standbys of it";
  status_.shards.clear();
  EXPECT_THAT(FindRulesNotKept(status_), IsEmpty());
}

// Plan: each of the flags that the status has, and a shard that counts for two.
TEST_F(RulesNotKeptTest, HaveTheFlagsOfTheirShards) {
  status_.shards[0].leader.clear();
  status_.shards[0].nobody_may_lead = true;
  status_.shards[2].led_against_rule = status_.shards[2].without_ready_standby = true;
  status_.shards[3].without_ready_standby = true;
  const RulesNotKept rules = FindRulesNotKept(status_);
  EXPECT_THAT(rules,
              ElementsAre(Pair(1, RuleGaps{.nobody_may_lead = 1}),
                          Pair(2, RuleGaps{.led_against_rule = 1, .without_ready_standby = 2})));
  EXPECT_EQ(ShardsWith(rules, &RuleGaps::without_ready_standby), 2u);
  EXPECT_EQ(ShardsWith(rules, &RuleGaps::fewer_standbys), 0u);
}

// Plan: shard 0 has one standby, and shard 1 none; a standby of shard 2 is no member, one of shard
// 3 loads. Nobody leads a shard, so it does not count; nor does a leader that is no member.
TEST_F(RulesNotKeptTest, CountTheShardsThatLackStandbys) {
  StandBy(0, {{"n2", "", true}});
  status_.shards[1].standbys = nullptr;
  StandBy(2, {{"n2", "", true}, {"n9", "", true}});
  StandBy(3, {{"n2", "", false}, {"n3", "", true}});
  EXPECT_THAT(FindRulesNotKept(status_),
              ElementsAre(Pair(1, RuleGaps{.fewer_standbys = 2}),
                          Pair(2, RuleGaps{.fewer_standbys = 1, .fewer_ready_standbys = 1})));
  status_.shards[0].leader.clear();
  status_.shards[2].leader = "n9";
  EXPECT_THAT(FindRulesNotKept(status_), ElementsAre(Pair(1, RuleGaps{.fewer_standbys = 1}),
                                                     Pair(2, RuleGaps{.fewer_ready_standbys = 1})));
}

// Plan: rule 2 wants zones; n1 and n2 share theirs. Then n2 moves to another zone. Then the rule
// names a label that no node has.
TEST_F(RulesNotKeptTest, CountTheShardsThatAreNotSpread) {
  status_.placement[1].spread = "zone";
  EXPECT_THAT(FindRulesNotKept(status_), ElementsAre(Pair(2, RuleGaps{.not_apart = 2})));
  status_.members[1].fact.zone = "c";
  EXPECT_THAT(FindRulesNotKept(status_), IsEmpty());
  status_.placement[1].spread = "zonee";
  EXPECT_THAT(FindRulesNotKept(status_), ElementsAre(Pair(2, RuleGaps{.not_apart = 2})));
}

// Plan: a status that a false server may have sent: rules that it does not have.
TEST_F(RulesNotKeptTest, NeedNotBeInTheStatus) {
  status_.shards[0].rule = 9;
  status_.shards[0].nobody_may_lead = true;
  status_.shards[1].rule = 3;
  status_.shards[1].standbys = nullptr;
  const RulesNotKept rules = FindRulesNotKept(status_);
  EXPECT_THAT(rules, ElementsAre(Pair(9, RuleGaps{.nobody_may_lead = 1})));
  EXPECT_EQ(RuleNames(status_.placement, rules, &RuleGaps::nobody_may_lead), "rule 9");
}

// Plan: rules with this gap alone are named, by what they require; at most five.
TEST_F(RulesNotKeptTest, AreNamed) {
  status_.placement[1].require = {{"zone", {"a", "b"}}};
  RulesNotKept rules = {{1, {.fewer_standbys = 1}}, {2, {.fewer_standbys = 2, .not_apart = 3}}};
  const auto names = [&](std::uint32_t RuleGaps::*gap) {
    return RuleNames(status_.placement, rules, gap);
  };
  EXPECT_EQ(names(&RuleGaps::not_apart), "rule 2 (zone=a|b)");
  EXPECT_EQ(names(&RuleGaps::fewer_standbys), "rule 1 (any node), rule 2 (zone=a|b)");
  EXPECT_EQ(names(&RuleGaps::nobody_may_lead), "");
  for (std::uint32_t number = 3; number <= 7; ++number) rules[number].fewer_standbys = 1;
  EXPECT_EQ(names(&RuleGaps::fewer_standbys),
            "rule 1 (any node), rule 2 (zone=a|b), rule 3, rule 4, rule 5, others");
}

}  // namespace
}  // namespace baton::runtime
