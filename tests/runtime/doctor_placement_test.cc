// The doctor's finding about placement rules, above all about those that ask for standbys.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/doctor/group_judgement.h"

namespace baton::runtime {
namespace {

using testing::HasSubstr;

MemberStatus MemberIn(const NodeId& node, const std::string& zone) {
  MemberStatus member;
  member.fact.node = node;
  member.fact.present = true;
  member.fact.lease = member.fact.session = SessionId{7};
  member.fact.zone = zone;
  return member;
}

// n1 leads both shards, in zone a; n2 and n3 are in zone b. One rule asks for two standbys.
class DoctorOfStandbys : public testing::Test {
 protected:
  DoctorOfStandbys() {
    NodeStatus& status = seen_.status;
    status.members = {MemberIn("n1", "a"), MemberIn("n2", "b"), MemberIn("n3", "b")};
    status.placement = {{.shards = {}, .require = {}, .prefer = {}, .standbys = 2, .spread = ""}};
    status.shard_count = 2;
    status.shards.resize(2);
    for (std::uint32_t s = 0; s < 2; ++s) {
      status.shards[s].shard = ShardId{s};
      status.shards[s].leader = "n1";
      status.shards[s].state = ShardState::kLed;
      status.shards[s].rule = 1;
      StandBy(s, {{"n2", "", true}, {"n3", "", true}});
    }
  }
  void StandBy(std::size_t shard, const std::vector<StandbyStatus>& standbys) {
    seen_.status.shards[shard].standbys =
        std::make_shared<const std::vector<StandbyStatus>>(standbys);
  }
  void Expect(Severity severity, const std::string& what, const std::string& advice = "") const {
    const Finding finding = PlacementFinding(seen_);
    EXPECT_EQ(finding.severity, severity) << finding.what;
    EXPECT_EQ(finding.what, what);
    EXPECT_THAT(finding.advice, HasSubstr(advice));
    EXPECT_TRUE(severity != Severity::kOk || finding.advice.empty()) << finding.advice;
  }

  Examination seen_;
};

TEST_F(DoctorOfStandbys, FindsTheRulesKept) {
  Expect(Severity::kOk, "1 rule: it forbids no leader, and the standbys it asks for are ready");
  seen_.status.placement.emplace_back();
  Expect(Severity::kOk, "2 rules: they forbid no leader, and the standbys they ask for are ready");
  for (PlacementRule& rule : seen_.status.placement) rule.standbys = 0;
  Expect(Severity::kOk, "2 rules: they forbid no leader");
  seen_.status.placement.pop_back();
  Expect(Severity::kOk, "1 rule: it forbids no leader");
  seen_.status.placement.clear();
  Expect(Severity::kOk, "there are no rules");
}

// Plan: shard 1 has one standby of two, for lack of nodes; the one is ready. A shard that nobody
// leads is the business of another finding.
TEST_F(DoctorOfStandbys, NamesShardsWithTooFewStandbys) {
  StandBy(1, {{"n2", "", true}});
  Expect(Severity::kWarning,
         "1 of 2 shards have fewer standbys than their rule asks for, by rule 1 (any node)",
         "start more nodes");
  seen_.status.shards[1].standbys = nullptr;
  Expect(Severity::kWarning,
         "1 of 2 shards have fewer standbys than their rule asks for, by rule 1 (any node)");
  seen_.status.shards[1].leader.clear();
  Expect(Severity::kOk, "1 rule: it forbids no leader, and the standbys it asks for are ready");
}

// Plan: one of the two still loads.
TEST_F(DoctorOfStandbys, NotesShardsWhoseStandbysLoad) {
  StandBy(0, {{"n2", "", true}, {"n3", "", false}});
  Expect(Severity::kNotice,
         "1 of 2 shards have fewer ready standbys than their rule asks for, by rule 1 (any node)",
         "batonctl shards list");
}

// Plan: two zones for three replicas; three of them; a label that no node has, so all share its
// empty value. Rules without `spread` ask for nothing of the kind.
TEST_F(DoctorOfStandbys, NotesShardsThatAreNotSpread) {
  seen_.status.placement[0].spread = "zone";
  Expect(Severity::kNotice,
         "2 of 2 shards have a leader and standbys that share a value of the label of `spread`, by "
         "rule 1 (any node)",
         "more values of the label");
  seen_.status.members[2].fact.zone = "c";
  Expect(Severity::kOk, "1 rule: it forbids no leader, and the standbys it asks for are ready");
  seen_.status.placement[0].spread = "zonee";
  EXPECT_EQ(PlacementFinding(seen_).severity, Severity::kNotice);
}

// Plan: each of three rules is not kept in another way. The worst one is said, and all are named,
// but not a fourth one whose standbys only load.
TEST_F(DoctorOfStandbys, NamesAllRulesThatAreNotKept) {
  NodeStatus& status = seen_.status;
  status.shard_count = 4;
  status.placement = Placement(4, PlacementRule(status.placement[0]));
  status.placement[0].spread = "zone";
  status.placement[1].require = {{"zone", {"b"}}};
  for (std::uint32_t s = 2; s < 4; ++s) status.shards.push_back(status.shards[1]);
  for (std::uint32_t s = 0; s < 4; ++s) status.shards[s].rule = s + 1;
  StandBy(1, {{"n2", "", true}});
  status.shards[2].led_against_rule = true;
  StandBy(3, {{"n2", "", true}, {"n3", "", false}});
  Expect(
      Severity::kWarning,
      "the leaders of 1 of 4 shards could not begin to lead them, by rule 3 (any node); not kept "
      "either: rule 1 (any node), rule 2 (zone=b)",
      "balance moves them");
}

// Plan: the standbys of one shard load, and share a zone: that may last, and so comes first.
TEST_F(DoctorOfStandbys, NotesWhatLastsBeforeWhatLoads) {
  seen_.status.placement[0].spread = "zone";
  for (std::size_t s = 0; s < 2; ++s) StandBy(s, {{"n2", "", true}, {"n3", "", false}});
  Expect(Severity::kNotice,
         "2 of 2 shards have a leader and standbys that share a value of the label of `spread`, by "
         "rule 1 (any node)",
         "more values of the label");
}

}  // namespace
}  // namespace baton::runtime
