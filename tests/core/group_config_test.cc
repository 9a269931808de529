// Reasons of a node or a relay to halt in its group's config: the whole message of each.
#include "core/group_config.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"

namespace baton::core {
namespace {

ConfigFact Config() { return {.present = true, .shards = 12, .schema = 1, .cluster_id = 4711}; }
std::string ToNode(const ConfigFact& config, std::uint64_t answering = 4711) {
  const auto problem =
      CheckGroupConfig(config, {.reader = ConfigReader::kNode,
                                .answering = answering,
                                .shape = GroupShape{.shards = 12, .hash = HashFunction::kMurmur2}});
  return problem ? problem->message : "";
}
std::string ToRelay(const ConfigFact& config, std::uint64_t answering = 4711,
                    std::optional<GroupShape> shape = std::nullopt) {
  const auto problem = CheckGroupConfig(
      config, {.reader = ConfigReader::kRelay, .answering = answering, .shape = shape});
  return problem ? problem->message : "";
}

TEST(GroupConfig, OneThatFitsIsNoProblem) {
  EXPECT_EQ(ToNode(Config()), "");
  EXPECT_EQ(ToRelay(Config()), "");
  EXPECT_EQ(ToRelay(Config(), 4711,
                    GroupShape{.shards = 12, .hash = HashFunction::kMurmur2, .cluster_id = 4711}),
            "");
}

TEST(GroupConfig, EachProblemIsAFailedPrecondition) {
  ConfigFact config = Config();
  config.shards = 13;
  const auto problem = CheckGroupConfig(config, {.shape = GroupShape{.shards = 12}});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, ErrorCode::kFailedPrecondition);
}

TEST(GroupConfig, ANewerSchemaNeedsAnUpdate) {
  ConfigFact config = Config();
  config.schema = kConfigSchema + 1;
  EXPECT_EQ(ToNode(config),
            "group config: the key 'config' was written by a newer version (schema 4, this one "
            "knows 3); update this node");
  config.readability = Readability::kNewerSchema;
  EXPECT_EQ(ToRelay(config),
            "group config: the key 'config' was written by a newer version (schema 4, this one "
            "knows 3); update this relay");
}

TEST(GroupConfig, ADamagedOneMustBeRestored) {
  ConfigFact config = Config();
  config.readability = Readability::kDamaged;
  EXPECT_EQ(ToNode(config),
            "group config: the key 'config' can't be read; restore it, or delete it and the nodes "
            "will write it again");
  EXPECT_EQ(ToRelay(config),
            "group config: the key 'config' can't be read; restore it, then start the relay again");
}

// A relay makes its tables for the count that it reads.
TEST(GroupConfig, ARelayTakesAnAbsurdCountForDamage) {
  ConfigFact config = Config();
  for (const std::uint32_t shards : {0u, kMaxShards + 1, 4'000'000'000u}) {
    config.shards = shards;
    EXPECT_EQ(ToRelay(config),
              "group config: the key 'config' can't be read; restore it, then start the relay "
              "again");
  }
  config.shards = kMaxShards;
  EXPECT_EQ(ToRelay(config), "");
}

TEST(GroupConfig, ARecoveryThatHasNotFinishedClosesTheGroup) {
  ConfigFact config = Config();
  config.cluster_id = 0;
  EXPECT_EQ(ToNode(config),
            "group config: closed by a recovery that has not finished: run the same batonctl "
            "recover again, then start the nodes");
  EXPECT_EQ(ToRelay(config),
            "group config: closed by a recovery that has not finished: run the same batonctl "
            "recover again, then start the relay");
}

TEST(GroupConfig, ANodeHasItsOwnCountAndHash) {
  ConfigFact config = Config();
  config.shards = 13;
  EXPECT_EQ(ToNode(config),
            "group config: the group has 13 shards, this node was given 12; the count is fixed at "
            "creation: give this node 13 shards");
  config = Config();
  config.hash = HashFunction::kModulo;
  EXPECT_EQ(ToNode(config),
            "group config: the group uses hash 'modulo', this node was given 'murmur2'; the hash "
            "is fixed at creation");
}

TEST(GroupConfig, TheEtcdThatAnswersMustBeTheGroups) {
  EXPECT_EQ(ToNode(Config(), 4712),
            "group config: the group belongs to etcd cluster 4711, but cluster 4712 answers; check "
            "--etcd (if the cluster was rebuilt on purpose, stop all nodes and run batonctl "
            "recover)");
  EXPECT_EQ(ToRelay(Config(), 4712),
            "group config: the group belongs to etcd cluster 4711, but cluster 4712 answers; check "
            "--etcd (if the cluster was rebuilt on purpose, see batonctl recover)");
  EXPECT_EQ(ToNode(Config(), 0), "") << "no etcd has answered with its cluster yet";
}

// Plan: a relay follows a group of 12 shards. Then the config says something else.
TEST(GroupConfig, ARelayCannotFollowAGroupThatWasCreatedAgain) {
  const GroupShape followed{.shards = 12, .hash = HashFunction::kMurmur2, .cluster_id = 4711};
  ConfigFact config = Config();
  config.shards = 13;
  EXPECT_EQ(ToRelay(config, 4711, followed),
            "the group was created again with other settings or in another etcd (it has 13 "
            "shards, and had 12); start the relay again");
  config = Config();
  config.hash = HashFunction::kModulo;
  EXPECT_NE(ToRelay(config, 4711, followed), "");
  config = Config();
  config.cluster_id = 4712;
  EXPECT_EQ(ToRelay(config, 4712, followed),
            "the group was created again with other settings or in another etcd (it has 12 "
            "shards, and had 12); start the relay again");
}

}  // namespace
}  // namespace baton::core
