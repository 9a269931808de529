// batonctl recover's writes, on a real etcd, in a group with settings of failover.
#include "keyspace_fixture.h"
#include "runtime/recovery/recovery.h"

namespace baton::etcd {
namespace {

class RecoverySettings : public testing::GroupTest {
 protected:
  ConfigFact Config() {
    const auto range = store().Get(keys.ConfigKey());
    return std::get<ConfigFact>(*keys.Decode(range.kvs(0)).fact);
  }
};

// Plan: a group with all settings and a ripe node is closed, raised and opened. The settings are
// those from before at each moment, and so is the ripe node's mark: the terms up to which it counts
// are those of the backup.
TEST_F(RecoverySettings, AreKeptWithTheMarksOfRipeNodes) {
  ConfigFact config;
  config.shards = 12;
  config.schema = kConfigSchema;
  config.cluster_id = 7;
  config.failover = {.policy = FailoverPolicy::kAfter,
                     .delay = std::chrono::minutes(10),
                     .lock_delay = std::chrono::seconds(5)};
  config.placement = {{.shards = {{0, 5}}, .require = {{"zone", {"a"}}}, .prefer = {}}};
  ASSERT_EQ(Execute(ConfigCreate{config}).outcome, Outcome::kDone);
  const WriteResult marked = Execute(RipeMark{.node = "n1", .up_to = Now(), .read = {}});
  ASSERT_EQ(marked.outcome, Outcome::kDone);
  const auto mark_before = store().Get(keys.RipeKey("n1")).kvs(0);

  runtime::Recovery recovery(store().transport(), keys);
  const auto survey = recovery.Survey();
  ASSERT_TRUE(survey.ok()) << survey.error().message;
  EXPECT_EQ(survey.value().newest, marked.revision);
  ASSERT_TRUE(recovery.Close(survey.value()).ok());
  EXPECT_EQ(Config().cluster_id, 0u);
  EXPECT_EQ(Config().schema, kConfigSchema);
  EXPECT_EQ(Config().failover, config.failover);
  EXPECT_EQ(Config().placement, config.placement);

  const Revision target{Now().value + 20};
  const auto raised = recovery.RaiseTo(target, [](Revision) { return true; });
  ASSERT_TRUE(raised.ok()) << raised.error().message;
  EXPECT_GE(raised.value(), target);
  const auto again = recovery.Survey();
  ASSERT_TRUE(again.ok()) << again.error().message;
  ASSERT_TRUE(recovery.Open(again.value()).ok());
  EXPECT_EQ(Config().cluster_id, again.value().cluster_id);
  EXPECT_EQ(Config().failover, config.failover);
  EXPECT_EQ(Config().placement, config.placement);
  EXPECT_EQ(store().Get(keys.RipeKey("n1")).kvs(0).SerializeAsString(),
            mark_before.SerializeAsString());
}

// Plan: all that a newer version says beside the settings stays, too.
TEST_F(RecoverySettings, ALaterVersionsFieldsAreKept) {
  ConfigFact config;
  config.shards = 12;
  config.schema = kConfigSchema;
  config.failover.lock_delay = std::chrono::seconds(5);
  config.unknown_fields = "\xa2\x06\x03new";  // field 100, "new"
  ASSERT_EQ(Execute(ConfigCreate{config}).outcome, Outcome::kDone);
  runtime::Recovery recovery(store().transport(), keys);
  const auto survey = recovery.Survey();
  ASSERT_TRUE(survey.ok()) << survey.error().message;
  ASSERT_TRUE(recovery.Close(survey.value()).ok());
  EXPECT_EQ(Config().unknown_fields, config.unknown_fields);
  EXPECT_EQ(Config().failover, config.failover);
}

// Plan: one member has a session, another one's key has no lease, as from a hand. The survey names
// both as members, and only the second as one that nothing will delete. (etcd 3.7 does not tell the
// leases if keys alone are read.)
TEST_F(RecoverySettings, MembersWithASessionAreNotCalledUnleased) {
  ASSERT_EQ(Execute(ConfigCreate{{.shards = 12}}).outcome, Outcome::kDone);
  Join("alive");
  store().Put(keys.MemberKey("stray"), "x");
  runtime::Recovery recovery(store().transport(), keys);
  const auto survey = recovery.Survey();
  ASSERT_TRUE(survey.ok()) << survey.error().message;
  EXPECT_EQ(survey.value().member_keys,
            (std::vector<std::string>{keys.MemberKey("alive"), keys.MemberKey("stray")}));
  EXPECT_EQ(survey.value().unleased_keys, std::vector<std::string>{keys.MemberKey("stray")});
}

}  // namespace
}  // namespace baton::etcd
