// An operator changes weight and labels of a running node: what the node answers, what its member
// record says, and what moves.
#include "base/node_change.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/cluster.h"

namespace baton::test {
namespace {

// n1 to n4, all of weight 1 and without labels.
class NodeChangeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ClusterOptions options;
    options.nodes = 4;
    options.shards = 12;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.rebalance_delay = seconds(1);
      tuned.cooldown = seconds(0);
    };
    cluster_ = std::make_unique<Cluster>(options);
    ASSERT_TRUE(cluster_->Up()) << cluster_->WhyNotSettled();
  }
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }

  std::string Ask(const NodeId& node, const core::NodeChangeRequested& asked) {
    const std::size_t before = cluster_->Asked<core::AnswerNodeChange>(node).size();
    cluster_->Deliver(node, asked);
    const auto answers = cluster_->Asked<core::AnswerNodeChange>(node);
    if (answers.size() != before + 1) return "no answer";
    const Result<NodeChanged>& result = answers.back().second.result;
    if (!result) return std::string(ToString(result.error().code)) + ": " + result.error().message;
    return (result->differs ? "changed: " : "unchanged: ") + SettingsWords(result->settings);
  }
  std::string Set(const NodeId& node, const NodeChange& change, bool dry_run = false) {
    return Ask(
        node,
        {.request = next_++, .node = node, .change = change, .dry_run = dry_run, .actor = "alice"});
  }
  /// The node's member record in etcd.
  std::string Stored(const NodeId& node) {
    const MemberFact member = cluster_->store().Member(node);
    return SettingsWords({.weight = member.weight, .labels = member.labels});
  }
  std::size_t Updates(const NodeId& node) const {
    return cluster_->Sent<MemberUpdate>(node).size();
  }
  void SetRule(const PlacementRule& rule) {
    ConfigFact config = std::get<ConfigFact>(cluster_->store().Get("config"));
    config.schema = kPlacementSchema;
    config.placement = {rule};
    cluster_->store().Put(config);
  }
  std::string Led() const {
    std::string led;
    for (const char* const node : {"n1", "n2", "n3", "n4"}) {
      led += (led.empty() ? "" : " ") + std::to_string(cluster_->LedBy(node));
    }
    return led;
  }
  bool Comes(const std::string& led) {
    return cluster_->RunUntil([&] { return Led() == led && cluster_->Settled(); }, seconds(60));
  }

  core::RequestId next_ = 1;
  std::unique_ptr<Cluster> cluster_;
};

// Plan: the weight rises, then falls to 0. The shards follow by planned moves; nobody's session or
// leadership ends otherwise.
TEST_F(NodeChangeTest, AWeightMovesTheBalance) {
  const SessionId session = cluster_->store().Member("n1").session;
  const std::size_t begun = cluster_->transitions().size();
  EXPECT_EQ(Set("n1", {.weight = 3}), "changed: weight 3, no labels");
  EXPECT_TRUE(Comes("6 2 2 2")) << Led();
  EXPECT_EQ(Set("n1", {.weight = 0}), "changed: weight 0, no labels");
  EXPECT_TRUE(Comes("0 4 4 4")) << Led();
  EXPECT_EQ(cluster_->store().Member("n1").session, session);
  for (std::size_t i = begun; i < cluster_->transitions().size(); ++i) {
    EXPECT_EQ(cluster_->transitions()[i].second.reason, Reason::kRebalance);
  }
}

// Plan: a rule wants a disk that no node has, so nothing moves. n3 gets the label, and the shards
// of the rule; then n4 gets it and n3 loses it.
TEST_F(NodeChangeTest, ARuleTakesAndDropsANodeByItsLabels) {
  SetRule({.shards = {{0, 5}}, .require = {{"disk", {"ssd"}}}, .prefer = {}});
  cluster_->Run(seconds(20));
  EXPECT_EQ(Led(), "3 3 3 3");
  EXPECT_EQ(Set("n3", {.labels = {{"disk", "ssd"}}}), "changed: weight 1, label disk=ssd");
  EXPECT_TRUE(Comes("2 2 6 2")) << Led();
  for (std::uint32_t s = 0; s < 6; ++s) EXPECT_EQ(cluster_->LeaderOf(ShardId{s}), "n3") << s;
  Set("n4", {.labels = {{"disk", "ssd"}}});
  EXPECT_TRUE(Comes("3 3 3 3")) << Led();
  EXPECT_EQ(Set("n3", {.labels = {{"rack", "r7"}}, .removed = {"disk"}}),
            "changed: weight 1, label rack=r7");
  EXPECT_TRUE(Comes("2 2 2 6")) << Led();
  EXPECT_EQ(Stored("n3"), "weight 1, label rack=r7");
}

// Plan: the last node with the label loses it. The shards stay where they are.
TEST_F(NodeChangeTest, ALeaderStaysIfNobodyElseFits) {
  SetRule({.shards = {{0, 5}}, .require = {{"disk", {"ssd"}}}, .prefer = {}});
  Set("n3", {.labels = {{"disk", "ssd"}}});
  ASSERT_TRUE(Comes("2 2 6 2")) << Led();
  Set("n3", {.removed = {"disk"}});
  cluster_->Run(seconds(60));
  for (std::uint32_t s = 0; s < 6; ++s) EXPECT_EQ(cluster_->LeaderOf(ShardId{s}), "n3") << s;
}

// Plan: the lease is revoked, so a new session begins. Then the process is started again, and its
// options count.
TEST_F(NodeChangeTest, TheNextSessionKeepsIt) {
  const SessionId session = cluster_->store().Member("n1").session;
  Set("n1", {.weight = 3, .labels = {{"disk", "ssd"}}});
  cluster_->Run(seconds(1));
  EXPECT_EQ(Stored("n1"), "weight 3, label disk=ssd");
  cluster_->RevokeLeaseOf("n1");
  ASSERT_TRUE(cluster_->RunUntil(
      [&] {
        const MemberFact member = cluster_->store().Member("n1");
        return member.present && member.session != session;
      },
      seconds(30)));
  EXPECT_EQ(Stored("n1"), "weight 3, label disk=ssd");
  EXPECT_TRUE(Comes("6 2 2 2")) << Led();
  EXPECT_EQ(Stored("n1"), "weight 3, label disk=ssd");
  cluster_->Kill("n1");
  cluster_->Start("n1", true);
  EXPECT_TRUE(Comes("3 3 3 3")) << Led();
  EXPECT_EQ(Stored("n1"), "weight 1, no labels");
}

// Plan: a dry run, and values that the node has already, write nothing and report nothing.
TEST_F(NodeChangeTest, WhatChangesNothingWritesNothing) {
  const NodeChange change{.weight = 2, .labels = {{"disk", "ssd"}}};
  EXPECT_EQ(Set("n1", change, true), "changed: weight 2, label disk=ssd");
  EXPECT_EQ(Set("n1", {.weight = 1, .removed = {"disk"}}), "unchanged: weight 1, no labels");
  EXPECT_EQ(cluster_->Asked<core::ReportNodeChange>("n1").size(), 0u);
  cluster_->Run(seconds(5));
  EXPECT_EQ(Updates("n1"), 0u);
  Set("n1", change);
  EXPECT_EQ(Set("n1", change), "unchanged: weight 2, label disk=ssd");
  cluster_->Run(seconds(5));
  EXPECT_EQ(Updates("n1"), 1u);
  const auto reports = cluster_->Asked<core::ReportNodeChange>("n1");
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].second.change, "set n1 weight 2, label disk=ssd");
  EXPECT_EQ(reports[0].second.actor, "alice");
}

// Plan: etcd is away. The node has the new weight at once, and says so in etcd later.
TEST_F(NodeChangeTest, TheRecordFollowsWhenEtcdIsBack) {
  cluster_->Outage(true);
  EXPECT_EQ(Set("n1", {.weight = 3}), "changed: weight 3, no labels");
  EXPECT_EQ(Set("n1", {.weight = 3}), "unchanged: weight 3, no labels");
  cluster_->Run(seconds(3));
  EXPECT_EQ(Stored("n1"), "weight 1, no labels");
  cluster_->Outage(false);
  EXPECT_TRUE(Comes("6 2 2 2")) << Led();
  EXPECT_EQ(Stored("n1"), "weight 3, no labels");
}

// Plan: the write of the member key is on its way when the change comes. It is corrected after.
TEST_F(NodeChangeTest, AChangeWhileTheSessionBeginsIsNotLost) {
  cluster_->Kill("n1");
  cluster_->Start("n1", true);
  cluster_->HoldWrites("n1");
  ASSERT_TRUE(cluster_->RunUntil([&] { return !cluster_->Sent<MemberTakeover>("n1").empty(); },
                                 seconds(20)));
  Set("n1", {.weight = 3});
  cluster_->LetWrites("n1");
  EXPECT_TRUE(Comes("6 2 2 2")) << Led();
  EXPECT_EQ(Stored("n1"), "weight 3, no labels");
}

// Plan: another node is named, one that is not there, a bad weight; then the node stops.
TEST_F(NodeChangeTest, WhatCantBeDoneIsRefused) {
  core::NodeChangeRequested asked{.node = "n2", .change = {.weight = 3}, .actor = "alice"};
  EXPECT_EQ(Ask("n1", asked),
            "failed precondition: only node 'n2' itself can change its settings: ask that node "
            "(--endpoint n2:7400)");
  asked.node = "n9";
  EXPECT_EQ(Ask("n1", asked), "not found: no node 'n9' in this group");
  EXPECT_EQ(Set("n1", {.weight = 1'000'001}),
            "invalid argument: weight is 1000001; give 0 to 1000000");
  cluster_->Start("n5");  // it has read nothing yet
  EXPECT_EQ(Ask("n5", asked), "unavailable: this node's view is not complete yet");
  cluster_->Drain("n1");
  EXPECT_EQ(Set("n1", {.weight = 3}), "unavailable: this node is stopping");
}

}  // namespace
}  // namespace baton::test
