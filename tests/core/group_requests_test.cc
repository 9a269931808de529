// `group set`: an operator changes how the group fails over.
#include <functional>

#include <gtest/gtest.h>

#include "core/requests_fixture.h"

namespace baton::test {
namespace {

using core::GroupChangeRequested;
using std::chrono::hours;

// Plan: a group of two; n3 runs an older version, n5 has no state directory, and neither is
// started.
class GroupRequests : public RequestsTest {
 protected:
  GroupRequests() : RequestsTest(Options()) {}
  void SetUp() override {
    cluster_.Start("n1");
    cluster_.Start("n2");
    ASSERT_TRUE(cluster_.RunUntil(
        [&] { return cluster_.LedBy("n1") == 2 && cluster_.LedBy("n2") == 2; }, seconds(30)));
  }
  using RequestsTest::Text;
  static std::string Text(const FailoverSettings& settings) {
    return std::string(ToString(settings.policy)) + " " + std::to_string(settings.delay.count()) +
           " " + std::to_string(settings.lock_delay.count());
  }

  static std::string Text(const ConfigFact& config) {
    return "schema " + std::to_string(config.schema) + ", " + Text(config.failover);
  }

  static GroupChangeRequested After(std::chrono::milliseconds delay) {
    return {.failover = FailoverPolicy::kAfter, .delay = delay, .actor = "alice"};
  }
  static GroupChangeRequested To(FailoverPolicy policy) {
    return {.failover = policy, .actor = "alice"};
  }
  static core::PolicyRequested Undrain(const NodeId& node) {
    return {.name = {PolicyKind::kDrain, node}, .present = false, .actor = "alice"};
  }
  static GroupChangeRequested Delay(std::chrono::milliseconds delay) {
    return {.delay = delay, .actor = "alice"};
  }
  static GroupChangeRequested LockDelay(std::chrono::milliseconds delay) {
    return {.lock_delay = delay, .actor = "alice"};
  }
  static GroupChangeRequested Rules(const Placement& placement) {
    return {.placement = placement, .actor = "alice"};
  }
  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 5;
    options.shards = 4;
    options.tune = [](core::CoreOptions& tuned) {
      const bool old = tuned.self.node == "n3";
      tuned.self.protocol_version = old ? kFailoverProtocol - 1 : kProtocolVersion;
      tuned.self.directory = tuned.self.node == "n5" ? 0 : std::hash<NodeId>{}(tuned.self.node) | 1;
    };
    return options;
  }
  std::vector<std::string> Written() const {
    std::vector<std::string> written;
    for (const auto& [at, write] : cluster_.Sent<ConfigChange>("n1")) {
      written.push_back(Text(write.config));
    }
    return written;
  }
};

const Placement kInZoneA{{.shards = {}, .require = {{"zone", {"a"}}}, .prefer = {}}};

// Plan: the first change takes two writes: one that shuts older versions out, and changes nothing
// else; then the settings. Later ones take one. Without settings the schema stays.
TEST_F(GroupRequests, TheFirstChangeShutsOlderVersionsOutBefore) {
  EXPECT_EQ(Answer(After(seconds(30))), "ok");
  EXPECT_EQ(Answer(LockDelay(milliseconds(1500))), "ok");
  EXPECT_EQ(Answer(To(FailoverPolicy::kImmediate)), "ok");
  EXPECT_EQ(Answer(LockDelay(milliseconds(0))), "ok");
  EXPECT_EQ(Written(),
            (std::vector<std::string>{"schema 2, immediate 0 0", "schema 2, after 30000 0",
                                      "schema 2, after 30000 1500", "schema 2, immediate 0 1500",
                                      "schema 2, immediate 0 0"}));
  EXPECT_EQ(Text(StoredConfig()), "schema 2, immediate 0 0");
  EXPECT_EQ(StoredConfig().shards, 4u);
  EXPECT_EQ(StoredConfig().cluster_id, Cluster::kClusterId);
  EXPECT_EQ(cluster_.violations(), kNone);
}

TEST_F(GroupRequests, NothingIsWrittenIfTheSettingsAreThereAlready) {
  ASSERT_EQ(Answer(After(seconds(30))), "ok");
  const std::size_t written = Written().size();
  EXPECT_EQ(Answer(After(seconds(30))), "ok");
  EXPECT_EQ(Answer(To(FailoverPolicy::kAfter)), "ok");
  EXPECT_EQ(Answer(LockDelay(milliseconds(0))), "ok");
  EXPECT_EQ(Written().size(), written);
}

TEST_F(GroupRequests, ADryRunFindsOutAndWritesNothing) {
  GroupChangeRequested dry = After(seconds(30));
  dry.dry_run = true;
  EXPECT_EQ(Answer(dry), "ok");
  dry.delay = milliseconds(999);
  EXPECT_EQ(Answer(dry), "invalid argument: failover-delay is 999ms; give 1s to 24h");
  EXPECT_EQ(Written().size(), 0u);
}

// Plan: rules take a schema of their own, which shuts out versions that know only the settings.
TEST_F(GroupRequests, TheFirstRulesShutOutVersionsThatDoNotKnowThem) {
  ASSERT_EQ(Answer(To(FailoverPolicy::kNever)), "ok");
  ASSERT_EQ(Answer(Rules(kInZoneA)), "ok");
  EXPECT_EQ(StoredConfig().schema, kPlacementSchema);
  EXPECT_EQ(StoredConfig().placement, kInZoneA);
  EXPECT_EQ(StoredConfig().failover.policy, FailoverPolicy::kNever);
  EXPECT_EQ(Written(), (std::vector<std::string>{"schema 2, immediate 0 0", "schema 2, never 0 0",
                                                 "schema 3, never 0 0", "schema 3, never 0 0"}));
  const std::size_t written = Written().size();
  EXPECT_EQ(Answer(Rules(kInZoneA)), "ok");  // they are there already
  EXPECT_EQ(Written().size(), written);
  EXPECT_EQ(Answer(To(FailoverPolicy::kImmediate)), "ok");
  EXPECT_EQ(StoredConfig().placement, kInZoneA);
  EXPECT_EQ(Answer(Rules({})), "ok");
  EXPECT_EQ(StoredConfig().placement, Placement{});
  EXPECT_EQ(StoredConfig().schema, kPlacementSchema);
  EXPECT_EQ(cluster_.violations(), kNone);
}

TEST_F(GroupRequests, RulesThatAreNotSoundAreRefused) {
  EXPECT_EQ(
      Answer(Rules({{.shards = {{3, 2}}, .require = {}, .prefer = {}}})),
      "invalid argument: rule 1: shards: shards 3-2 are no range; give the lower number first, "
      "and none above 999999");
  EXPECT_EQ(Written().size(), 0u);
}

// Plan: what makes no sense is refused in one line that says what to do, and writes nothing.
TEST_F(GroupRequests, SettingsThatMakeNoSenseAreRefused) {
  const std::vector<std::pair<GroupChangeRequested, std::string>> table = {
      {To(FailoverPolicy::kAfter),
       "failover=after needs failover-delay: give failover-delay=30s, for example"},
      {After(milliseconds(999)), "failover-delay is 999ms; give 1s to 24h"},
      {After(hours(24) + milliseconds(1)), "failover-delay is 86400001ms; give 1s to 24h"},
      {Delay(seconds(30)),
       "failover-delay counts only with failover=after, and failover is immediate: give "
       "failover=after, too, or no failover-delay"},
      {{.failover = FailoverPolicy::kNever, .delay = seconds(30), .actor = "alice"},
       "failover-delay counts only with failover=after, and failover is never: give "
       "failover=after, too, or no failover-delay"},
      {LockDelay(hours(1) + milliseconds(1)), "lock-delay is 3600001ms; give 0 to 1h"},
      {LockDelay(milliseconds(-1)), "lock-delay is -1ms; give 0 to 1h"}};
  for (const auto& [asked, message] : table) {
    EXPECT_EQ(Answer(asked), "invalid argument: " + message);
  }
  EXPECT_EQ(Written().size(), 0u);
  EXPECT_EQ(Answer(After(hours(24))), "ok");
  EXPECT_EQ(Answer(LockDelay(hours(1))), "ok");
  EXPECT_EQ(Text(StoredConfig()), "schema 2, after 86400000 3600000");
  EXPECT_EQ(Answer(Delay(hours(1))),
            "invalid argument: lock-delay is 1h, and failover-delay 1h: the node that led could "
            "never come back in time; give a shorter lock-delay");
  EXPECT_EQ(Answer(LockDelay(milliseconds(999))), "ok");
  EXPECT_EQ(Answer(Delay(seconds(1))), "ok");
  EXPECT_EQ(Text(StoredConfig()), "schema 2, after 1000 999");
}

// Plan: an older version has joined. Neither the schema nor the settings are written. When it is
// gone, they are.
TEST_F(GroupRequests, AMemberThatWouldNotKeepThemIsNamed) {
  cluster_.Start("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n3") == 1; }, seconds(30)));
  EXPECT_EQ(Answer(To(FailoverPolicy::kNever)),
            "failed precondition: these members run a version that would not keep to such "
            "settings: 'n3'; update them, or stop them, then try again");
  EXPECT_EQ(Text(StoredConfig()), "schema 1, immediate 0 0");
  cluster_.Drain("n3");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.store().Has("members/n3"); }, seconds(30)));
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answer(To(FailoverPolicy::kNever)), "ok");
}

// Plan: n5 has no state directory, so with failover never nobody could lead its shards after its
// restart. It is named; other settings count as ever. Once it leads nothing and may not begin to,
// it stands in nobody's way. A later one is no reason to refuse other changes, or the way back.
TEST_F(GroupRequests, AMemberThatCouldTakeNothingBackIsNamed) {
  cluster_.Start("n5");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n5") == 1; }, seconds(30)));
  EXPECT_EQ(
      Answer(To(FailoverPolicy::kNever)),
      "failed precondition: these members have no state directory, so after a restart they "
      "could not take back what they led, and nobody else may: 'n5'; give each one that it "
      "keeps (--state-dir), or drain it until it leads nothing and leave it drained, then try "
      "again");
  EXPECT_EQ(Text(StoredConfig()), "schema 1, immediate 0 0");
  EXPECT_EQ(Answer(After(seconds(30))), "ok");
  EXPECT_EQ(Text(StoredConfig()), "schema 2, after 30000 0");
  cluster_.Policy("n1", {PolicyKind::kDrain, "n5"});
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n5") == 0; }, seconds(30)));
  cluster_.Run(seconds(1));  // n1 hears of it
  EXPECT_EQ(Answer(To(FailoverPolicy::kNever)), "ok");
  EXPECT_EQ(Answer(Undrain("n5")),
            "failed precondition: 'n5' has no state directory, and failover is never: after a "
            "restart it could not take back what it led, and nobody else may; give it one that it "
            "keeps (--state-dir), or set another failover");
  EXPECT_EQ(Answer(Undrain("n2")), "ok") << "it was not drained";
  EXPECT_TRUE(cluster_.store().Has("policy/drain/n5"));
  cluster_.DeletePolicies();  // by hand
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n5") == 1; }, seconds(90)));
  EXPECT_EQ(Answer(LockDelay(seconds(1))), "ok");
  EXPECT_EQ(Answer(To(FailoverPolicy::kImmediate)), "ok");
}

// Plan: n5, which has no state directory, has joined, and leads nothing yet. Then it leads a shard,
// and is drained, but does not let go of it. It could take nothing back in both cases.
TEST_F(GroupRequests, AMemberThatLeadsOrMayBeginToLeadIsNamed) {
  const auto refused = [&] {
    const std::string answer = Answer(To(FailoverPolicy::kNever));
    return answer.find("these members have no state directory") != std::string::npos;
  };
  cluster_.Start("n5");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.store().Has("members/n5"); }, seconds(5)));
  cluster_.Run(milliseconds(100));  // n1 hears of it
  ASSERT_EQ(cluster_.LedBy("n5"), 0u);
  EXPECT_TRUE(refused());
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n5") == 1; }, seconds(30)));
  cluster_.Behave("n5", core::CallbackKind::kReleasing, Behaviour::kHangs);
  cluster_.Policy("n1", {PolicyKind::kDrain, "n5"});
  cluster_.Run(seconds(1));
  ASSERT_EQ(cluster_.LedBy("n5"), 1u);
  EXPECT_TRUE(refused());
}

// Plan: a node without a state directory is drained. With failover after the drain can be taken
// back; with never, too, once the node is gone.
TEST_F(GroupRequests, OnlyNeverKeepsAMemberThatCouldTakeNothingBackDrained) {
  cluster_.Start("n5");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n5") == 1; }, seconds(30)));
  for (const bool never : {false, true}) {
    cluster_.Policy("n1", {PolicyKind::kDrain, "n5"});
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n5") == 0; }, seconds(30)));
    cluster_.Run(seconds(1));  // n1 hears of it
    ASSERT_EQ(Answer(never ? To(FailoverPolicy::kNever) : After(seconds(30))), "ok");
    if (never) {
      cluster_.Kill("n5");
      ASSERT_TRUE(
          cluster_.RunUntil([&] { return !cluster_.store().Has("members/n5"); }, seconds(30)));
      cluster_.Run(seconds(1));
    }
    EXPECT_EQ(Answer(Undrain("n5")), "ok");
    EXPECT_FALSE(cluster_.store().Has("policy/drain/n5"));
  }
}

// Plan: the change is decided, and on its way, when an older version joins. The write is refused,
// and n1 names the member.
TEST_F(GroupRequests, AMemberThatJoinsMeanwhileIsSeen) {
  cluster_.HoldWrites("n1");
  Ask("n1", To(FailoverPolicy::kNever));
  cluster_.Start("n3");
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return cluster_.store().Has("members/n3"); }, milliseconds(900)));
  ASSERT_EQ(LetLast().outcome, Outcome::kRefused);
  cluster_.Run(seconds(1));
  ASSERT_EQ(Answers().size(), 1u);
  EXPECT_NE(Answers().front().find("'n3'"), std::string::npos) << Answers().front();
  EXPECT_EQ(Text(StoredConfig()), "schema 1, immediate 0 0");
}

// Plan: the same, but the member that joins keeps to the settings. n1 has not heard of it when the
// answer comes, and waits until it has: without that it would try again and again in vain.
TEST_F(GroupRequests, AMemberThatKeepsThemMayJoinMeanwhile) {
  cluster_.HoldWrites("n1");
  cluster_.HoldWatch("n1");
  Ask("n1", To(FailoverPolicy::kNever));
  cluster_.Start("n4");
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return cluster_.store().Has("members/n4"); }, milliseconds(900)));
  ASSERT_EQ(LetLast().outcome, Outcome::kRefused);
  cluster_.Run(milliseconds(100));
  EXPECT_EQ(Written().size(), 1u);
  cluster_.HoldWatch("n1", false);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answers(), std::vector<std::string>{"ok"});
  EXPECT_EQ(Text(StoredConfig()), "schema 2, never 0 0");
}

// Plan: the same, and n1 hears of it too late.
TEST_F(GroupRequests, WhoseTimeIsOverWhileOthersComeFirstHearsThatNothingWasMade) {
  cluster_.HoldWrites("n1");
  cluster_.HoldWatch("n1");
  GroupChangeRequested asked = To(FailoverPolicy::kNever);
  asked.answer_by = cluster_.now() + seconds(1);
  Ask("n1", asked);
  cluster_.Start("n4");
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return cluster_.store().Has("members/n4"); }, milliseconds(900)));
  ASSERT_EQ(LetLast().outcome, Outcome::kRefused);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answers(), std::vector<std::string>{
                           "unavailable: other changes came first until the time was over: the "
                           "change was not made, and won't be"});
  cluster_.HoldWatch("n1", false);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Text(StoredConfig()), "schema 1, immediate 0 0");
}

// Plan: the first of the two writes is made, and its answer comes when the time is over. Nobody
// else changed anything.
TEST_F(GroupRequests, WhoseTimeIsOverBetweenTheWritesHearsThatNothingWasMade) {
  cluster_.HoldWrites("n1");
  GroupChangeRequested asked = To(FailoverPolicy::kNever);
  asked.answer_by = cluster_.now() + seconds(1);
  Ask("n1", asked);
  cluster_.Run(milliseconds(900));
  cluster_.Pause("n1");
  ASSERT_EQ(LetLast().outcome, Outcome::kDone);
  cluster_.Run(milliseconds(200));
  cluster_.Resume("n1");
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answers(), std::vector<std::string>{
                           "unavailable: the change needs two writes, and only the first was made "
                           "in time: the settings are as they were, and stay so"});
  EXPECT_EQ(Text(StoredConfig()), "schema 2, immediate 0 0");
}

// Plan: n1's lock delay is on its way when n2 sets the policy. Both are there in the end.
TEST_F(GroupRequests, TwoOperatorsLoseNothing) {
  ASSERT_EQ(Answer(After(seconds(30))), "ok");
  cluster_.HoldWrites("n1");
  Ask("n1", LockDelay(seconds(5)));
  Ask("n2", To(FailoverPolicy::kNever));
  cluster_.Run(milliseconds(100));
  ASSERT_EQ(Text(StoredConfig()), "schema 2, never 0 0");
  ASSERT_EQ(LetLast().outcome, Outcome::kRefused);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answers().back(), "ok");
  EXPECT_EQ(Text(StoredConfig()), "schema 2, never 0 5000");
}

// Plan: n1's delay is on its way when n2 sets another policy: it makes no sense any more.
TEST_F(GroupRequests, AChangeThatMakesNoSenseAfterAnotherIsRefused) {
  ASSERT_EQ(Answer(After(seconds(30))), "ok");
  cluster_.HoldWrites("n1");
  Ask("n1", Delay(seconds(60)));
  Ask("n2", To(FailoverPolicy::kNever));
  cluster_.Run(milliseconds(100));
  ASSERT_EQ(LetLast().outcome, Outcome::kRefused);
  cluster_.Run(seconds(1));
  EXPECT_EQ(Answers().back().find("invalid argument: failover-delay counts only"), 0u);
  EXPECT_EQ(Text(StoredConfig()), "schema 2, never 0 0");
}

// Plan: the answers to the writes are lost; the copies that follow are refused, but the change was
// made.
TEST_F(GroupRequests, AnAnswerThatIsLostIsFoundOut) {
  cluster_.LoseReplies("n1");
  Ask("n1", After(seconds(30)));
  cluster_.Run(milliseconds(200));
  cluster_.LoseReplies("n1", false);
  cluster_.Run(seconds(10));
  EXPECT_EQ(Answers(), std::vector<std::string>{"ok"});
  EXPECT_EQ(Text(StoredConfig()), "schema 2, after 30000 0");
}

// Plan: n1's user in etcd may not write the group's settings. That is no change of somebody else.
TEST_F(GroupRequests, ADeniedWriteIsCalledSo) {
  cluster_.DenyWrites("n1", [](const Write&) { return true; });
  const std::string answer = Answer(To(FailoverPolicy::kNever));
  EXPECT_EQ(answer.find("failed precondition: etcd refuses to write the change"), 0u) << answer;
}

// Plan: a request of n1's is lost, so n1 can't know its fate, and another operator sets the same.
// n1 must not call that its own change.
TEST_F(GroupRequests, AnothersChangeIsNotCalledMade) {
  ASSERT_EQ(Answer(After(seconds(30))), "ok");
  cluster_.faults.lose_request = 1000;
  Ask("n1", To(FailoverPolicy::kNever));
  cluster_.Run(milliseconds(10));
  cluster_.faults.lose_request = 0;
  GroupChangeRequested other = To(FailoverPolicy::kNever);
  other.actor = "bob";
  Ask("n2", other);
  cluster_.Run(seconds(10));
  EXPECT_EQ(StoredConfig().actor, "bob");
  ASSERT_EQ(Answers().size(), 2u);
  EXPECT_EQ(Answers().back().find("failed precondition: another change came first"), 0u)
      << Answers().back();
}

// Plan: the config says who set it last. For those who follow the group it stays the same, until a
// bad one has been put back.
TEST_F(GroupRequests, AChangeOfSettingsIsNoOtherIncarnation) {
  const Revision first = StoredConfig().revision;
  ASSERT_EQ(Answer(After(seconds(30))), "ok");
  GroupChangeRequested other = To(FailoverPolicy::kNever);
  other.actor = "bob";
  ASSERT_EQ(Answer(other), "ok");
  EXPECT_EQ(StoredConfig().actor, "bob");
  EXPECT_GT(StoredConfig().revision, first);
  EXPECT_EQ(cluster_.core("n1").config_incarnation(), first);
  EXPECT_EQ(cluster_.core("n2").config_incarnation(), first);
  ConfigFact bad = StoredConfig();
  bad.shards = 5;
  cluster_.store().Put(bad);
  cluster_.HoldWatch("n1", false);  // the watches hear of it
  cluster_.Run(seconds(5));
  EXPECT_EQ(Text(StoredConfig()), "schema 2, never 0 0");
  EXPECT_EQ(StoredConfig().actor, "bob");
  EXPECT_EQ(cluster_.core("n1").config_incarnation(), StoredConfig().revision);
}

// Plan: etcd answers nothing. 64 changes wait, one more is refused. The node stops: all are
// answered once.
TEST_F(GroupRequests, EachIsAnsweredOnceAndThereIsABound) {
  cluster_.HoldWrites("n1");
  for (int i = 0; i < 65; ++i) Ask("n1", After(seconds(30 + i)));
  EXPECT_EQ(Answers(), std::vector<std::string>{"unavailable: too many changes are waiting for "
                                                "etcd already; check that etcd answers, then try "
                                                "again"});
  cluster_.Stop("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(Answers().size(), 65u);
  EXPECT_EQ(Answers().back(), "timed out: this node is stopping; the change may still be made");
}

// Plan: no copy of the write leaves the node until the time is over. It is dropped.
TEST_F(GroupRequests, WhatWasNeverSentIsDropped) {
  cluster_.KeepWrites("n1", milliseconds(1));
  GroupChangeRequested asked = To(FailoverPolicy::kNever);
  asked.answer_by = cluster_.now() + seconds(2);
  Ask("n1", asked);
  cluster_.Run(seconds(3));
  EXPECT_EQ(Answers(), std::vector<std::string>{
                           "unavailable: etcd can't be reached: the change was not made, and "
                           "won't be"});
  cluster_.KeepWrites("n1", std::nullopt);
  cluster_.Run(seconds(10));
  EXPECT_EQ(Text(StoredConfig()), "schema 1, immediate 0 0");
}

// Plan: a mistake has replaced the config, and the group is about to put it back. A change now
// would be lost by that.
TEST_F(GroupRequests, ABadConfigIsNotChanged) {
  ConfigFact bad = StoredConfig();
  bad.shards = 5;
  cluster_.HoldWrites("n1");
  cluster_.HoldWrites("n2");
  cluster_.store().Put(bad);
  cluster_.HoldWatch("n1", false);  // the watches hear of it
  cluster_.Run(milliseconds(100));
  Ask("n1", To(FailoverPolicy::kNever));
  ASSERT_EQ(Answers().size(), 1u);
  EXPECT_EQ(Answers().front().find("failed precondition: group config: the group has 5 shards"), 0u)
      << Answers().front();
}

}  // namespace
}  // namespace baton::test
