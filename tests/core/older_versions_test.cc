// Members of a version that knows no placement rules: the group gets no rules while there is one,
// and one that comes later leads nothing against the rules, and halts.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <variant>

#include "core/requests_fixture.h"

namespace baton::test {
namespace {

using core::GroupChangeRequested;

constexpr std::uint32_t kShardsOfOld = 8;

// n1 and n2 are in zone a, n3 and n4 in zone b. n3 runs the older version until it is upgraded. It
// reads a config of a later schema as that version does: it is of a newer one.
class OlderVersions : public RequestsTest {
 protected:
  OlderVersions() : RequestsTest(Options()) {}
  void SetUp() override {
    old_ = {"n3"};
    cluster_.on_event = [this](const NodeId& node, core::Event& event) {
      if (old_.contains(node)) ReadAsOlder(event);
    };
    cluster_.Start("n1");
    cluster_.Start("n2");
    ASSERT_TRUE(cluster_.RunUntil(
        [&] { return cluster_.LedBy("n1") == 4 && cluster_.LedBy("n2") == 4; }, seconds(30)));
  }
  void TearDown() override { EXPECT_EQ(cluster_.violations(), kNone); }

  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 4;
    options.shards = kShardsOfOld;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.self.zone = tuned.self.node <= "n2" ? "a" : "b";
      tuned.rebalance_delay = seconds(1);
      tuned.cooldown = seconds(0);
      const bool old = old_.contains(tuned.self.node);
      tuned.self.protocol_version = old ? kPlacementProtocol - 1 : kProtocolVersion;
    };
    return options;
  }
  void ReadAsOlder(core::Event& event) const {
    if (auto* read = std::get_if<core::SnapshotRead>(&event)) Forget(read->snapshot.facts);
    if (auto* seen = std::get_if<core::ChangesSeen>(&event)) Forget(seen->changes.facts);
    if (auto* answered = std::get_if<core::WriteAnswered>(&event)) {
      Forget(answered->result.read_back);
    }
  }
  void Forget(std::vector<Fact>& facts) const {
    if (hears_of_no_config_) {
      std::erase_if(facts,
                    [](const Fact& fact) { return std::holds_alternative<ConfigFact>(fact); });
    }
    for (Fact& fact : facts) {
      auto* const config = std::get_if<ConfigFact>(&fact);
      if (config == nullptr || config->schema < kPlacementSchema) continue;
      config->readability = Readability::kNewerSchema;
      config->placement.clear();
    }
  }

  static GroupChangeRequested Rules(const Placement& placement) {
    return {.placement = placement, .actor = "alice"};
  }
  std::size_t Writes() const { return cluster_.Sent<ConfigChange>("n1").size(); }
  bool IsMember(const NodeId& node) { return cluster_.store().Has("members/" + node); }
  void Join(const NodeId& node) {
    cluster_.Start(node);
    ASSERT_TRUE(cluster_.RunUntil([&] { return IsMember(node); }, milliseconds(900)));
  }
  // The write that n1 holds back reaches etcd, and n1 gets the answer. Its next write is held back,
  // too.
  WriteResult LetOne() {
    const core::SubmitWrite held = cluster_.Asked<core::SubmitWrite>("n1").back().second;
    const WriteResult result = cluster_.store().Execute(*held.write);
    cluster_.Deliver("n1", core::WriteAnswered{held.operation, result});
    return result;
  }

  static inline std::set<NodeId> old_;
  bool hears_of_no_config_ = false;
};

Placement RuleForZone(const std::string& zone) {
  return {{.shards = {}, .require = {{"zone", {zone}}}, .prefer = {}}};
}
Placement WithStandbys() {
  PlacementRule rule;
  rule.standbys = 1;
  return {rule};
}

const std::string kNamesN3 =
    "failed precondition: these members run a version that would not keep to such settings: 'n3'; "
    "update them, or stop them, then try again";

// Plan: n3 is a member. Neither rules nor standbys are written, nor a schema that would make it
// halt. Failover settings are: its version knows them. Once it is upgraded, the rules are set.
TEST_F(OlderVersions, AMemberThatKnowsNoRulesIsNamedAndNothingIsWritten) {
  Join("n3");
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answer(Rules(RuleForZone("a"))), kNamesN3);
  EXPECT_EQ(Answer(Rules(WithStandbys())), kNamesN3);
  EXPECT_EQ(Writes(), 0u);
  EXPECT_EQ(StoredConfig().schema, kSchema);
  EXPECT_EQ(
      Answer(GroupChangeRequested{.lock_delay = std::chrono::milliseconds(1), .actor = "alice"}),
      "ok");
  EXPECT_EQ(
      Answer(GroupChangeRequested{.lock_delay = std::chrono::milliseconds(0), .actor = "alice"}),
      "ok");
  EXPECT_EQ(StoredConfig().schema, kFailoverSchema);
  cluster_.Run(seconds(5));
  EXPECT_FALSE(cluster_.halted("n3"));
  cluster_.Drain("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.finished("n3"); }, seconds(30)));
  old_.clear();
  cluster_.Start("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return IsMember("n3"); }, seconds(5)));
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answer(Rules(RuleForZone("a"))), "ok");
  EXPECT_EQ(StoredConfig().placement, RuleForZone("a"));
}

// Plan: n3 joins while the first write is on its way, and in another group between the two writes.
// The write that comes after it is refused, so there are no rules.
TEST_F(OlderVersions, RulesAreNotSetIfSuchAMemberJoinsBeforeTheFirstWrite) {
  cluster_.HoldWrites("n1");
  Ask("n1", Rules(RuleForZone("a")));
  Join("n3");
  ASSERT_EQ(LetLast().outcome, Outcome::kRefused);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answers(), std::vector{kNamesN3});
  EXPECT_EQ(StoredConfig().schema, kSchema);
}

TEST_F(OlderVersions, RulesAreNotSetIfSuchAMemberJoinsBetweenTheWrites) {
  cluster_.HoldWrites("n1");
  Ask("n1", Rules(RuleForZone("b")));
  hears_of_no_config_ = true;  // n3 has read the config before, and is slow
  ASSERT_EQ(LetOne().outcome, Outcome::kDone);
  ASSERT_EQ(StoredConfig().schema, kPlacementSchema);
  MemberFact member;
  member.node = "n3";
  member.present = true;
  member.protocol_version = kPlacementProtocol - 1;
  member.weight = 1;
  cluster_.store().Put(member);
  ASSERT_EQ(Writes(), 2u);
  ASSERT_EQ(LetOne().outcome, Outcome::kRefused);
  cluster_.PassNewWrites("n1");
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answers(), std::vector{kNamesN3});
  EXPECT_EQ(StoredConfig().placement, Placement{});
}

// Plan: the group has rules. n3 halts, says why, and takes nothing; the others go on.
TEST_F(OlderVersions, OneThatJoinsAGroupWithRulesHalts) {
  ASSERT_EQ(Answer(Rules(RuleForZone("a"))), "ok");
  cluster_.Start("n3");
  cluster_.Run(seconds(20));
  ASSERT_TRUE(cluster_.halted("n3"));
  EXPECT_NE(cluster_.halted("n3")->message.find("written by a newer version"), std::string::npos)
      << cluster_.halted("n3")->message;
  EXPECT_FALSE(IsMember("n3"));
  EXPECT_EQ(cluster_.LedBy("n1") + cluster_.LedBy("n2"), kShardsOfOld);
}

// Plan: n3 read the config before there were rules, hears nothing of it since, and joins. A leader
// dies. Each claim of n3's compares the config as n3 knows it, so none lands, though n3 is in the
// zone that the rule keeps out. Once it hears of the config, it halts.
TEST_F(OlderVersions, OneThatHasNotHeardOfTheRulesLeadsNothingAgainstThem) {
  cluster_.HoldWrites("n3");
  cluster_.Start("n3");
  cluster_.Run(seconds(1));
  ASSERT_FALSE(IsMember("n3"));
  hears_of_no_config_ = true;
  ASSERT_EQ(Answer(Rules(RuleForZone("a"))), "ok");
  cluster_.LetWrites("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return IsMember("n3"); }, seconds(5)));
  ASSERT_FALSE(cluster_.halted("n3"));
  cluster_.Kill("n1");
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        EXPECT_EQ(cluster_.LedBy("n3"), 0u);
        return !cluster_.Sent<ClaimBatch>("n3").empty() && cluster_.LedBy("n2") == kShardsOfOld;
      },
      seconds(60)));
  hears_of_no_config_ = false;
  cluster_.StickWatch("n3");  // it reads the group again
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.halted("n3").has_value(); }, seconds(60)));
  EXPECT_EQ(cluster_.LedBy("n2"), kShardsOfOld);
}

}  // namespace
}  // namespace baton::test
