// Nodes that must not take part: each ends with one clear line and exit code 1, and changes nothing
// in etcd.
#include <csignal>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/facts.h"
#include "baton/v1/records.pb.h"
#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Matcher;

std::vector<std::string> ErrorLines(const NodeProcess& node) {
  std::vector<std::string> lines;
  std::istringstream log(node.Log());
  for (std::string line; std::getline(log, line);) {
    if (line.find("\"level\":\"error\"") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

/// `node`, launched with JSON logs, exits with 1 and says why in one error line, which matches.
void ExpectRefused(NodeProcess& node, const Matcher<std::string>& line) {
  const auto exit = node.WaitExit();
  ASSERT_TRUE(exit.has_value()) << "still running" << node.Log();
  EXPECT_EQ(exit->code, 1) << ToString(*exit);
  EXPECT_THAT(ErrorLines(node), ElementsAre(line)) << node.Log();
}

class Refusal : public testing::Test {
 protected:
  /// Makes a group whose config differs from what a node would write; no node runs.
  void PutConfig(const std::function<void(baton::v1::ConfigRecord&)>& change) {
    cluster_.Start("n1");
    cluster_.AwaitBalanced({"n1"});
    cluster_.node("n1").Signal(SIGTERM);
    ASSERT_TRUE(cluster_.node("n1").WaitExit().has_value());
    const auto stored = etcd_.Get(cluster_.Key("config"));
    ASSERT_TRUE(stored.has_value());
    baton::v1::ConfigRecord config;
    ASSERT_TRUE(config.ParseFromString(stored->value()));
    change(config);
    config_ = config.SerializeAsString();
    etcd_.Put(cluster_.Key("config"), config_);
  }
  void ExpectConfigRefused(const Matcher<std::string>& line) {
    ExpectRefused(cluster_.Launch("n2"), line);
    EXPECT_EQ(etcd_.Get(cluster_.Key("config"))->value(), config_) << "overwritten";
    EXPECT_FALSE(etcd_.Get(cluster_.Key("members/n2")).has_value());
  }

  EtcdClient etcd_{SharedEtcd().endpoints()};
  Cluster cluster_{SharedEtcd(),
                   {.shards = 6, .ttl = seconds(2), .flags = {"--log-format", "json"}}};
  std::string config_;
};

TEST_F(Refusal, OfAnotherShardCountNamesBothNumbers) {
  cluster_.Start("n1");
  const Table before = cluster_.AwaitBalanced({"n1"});
  ExpectRefused(
      cluster_.Launch("n2", {"--shards", "7"}),
      AllOf(HasSubstr("6 shards"), HasSubstr("given 7"), HasSubstr("give this node 6 shards")));
  EXPECT_EQ(cluster_.AwaitBalanced({"n1"}), before);
}

TEST_F(Refusal, OfAnotherHashFunctionNamesBoth) {
  PutConfig([](auto& config) { config.set_hash_function(baton::v1::RECORD_HASH_FUNCTION_MODULO); });
  ExpectConfigRefused(AllOf(HasSubstr("modulo"), HasSubstr("murmur2")));
}

TEST_F(Refusal, OfAnotherEtcdClusterNamesBoth) {
  PutConfig([](auto& config) { config.set_cluster_id(4711); });
  ExpectConfigRefused(AllOf(HasSubstr("etcd cluster 4711"), HasSubstr("--etcd")));
}

TEST_F(Refusal, OfANewerSchemaAsksForAnUpdate) {
  PutConfig([](auto& config) { config.set_schema(kConfigSchema + 1); });
  ExpectConfigRefused(AllOf(HasSubstr("schema " + std::to_string(kConfigSchema + 1)),
                            HasSubstr("update this node")));
}

TEST_F(Refusal, OfADamagedConfigLeavesItAsItIs) {
  PutConfig([](auto&) {});
  config_ = "\xff garbage";
  etcd_.Put(cluster_.Key("config"), config_);
  ExpectConfigRefused(AllOf(HasSubstr("can't be read"), HasSubstr(cluster_.Key("config"))));
}

// Plan: three nodes lead. An operator's etcdctl puts garbage to the config, then deletes it. Each
// time the nodes lead on in the same terms, and the first of them puts the same bytes back and
// names the key.
TEST_F(Refusal, OneBadWriteToTheConfigHaltsNobody) {
  for (const char* const node : {"n1", "n2", "n3"}) cluster_.Start(node);
  const Table before = cluster_.AwaitBalanced({"n1", "n2", "n3"});
  const std::string key = cluster_.Key("config");
  const std::string good = etcd_.Get(key)->value();
  const auto is_back = [&] {
    const auto stored = etcd_.Get(key);
    return stored.has_value() && stored->value() == good;
  };
  etcd_.Put(key, "\xff garbage");
  cluster_.Await("the config is back", is_back);
  etcd_.Delete(key);
  cluster_.Await("the config is back", is_back);
  EXPECT_EQ(cluster_.AwaitBalanced({"n1", "n2", "n3"}), before);
  EXPECT_THAT(ErrorLines(cluster_.node("n1")),
              ElementsAre(AllOf(HasSubstr(key), HasSubstr("can't be read any more")),
                          AllOf(HasSubstr(key), HasSubstr("was deleted"))))
      << cluster_.node("n1").Log();
}

// A config of a newer schema arrives while nodes run: they stop leading and exit, overwriting
// nothing.
TEST_F(Refusal, ANewerSchemaWhileRunningHaltsTheNode) {
  cluster_.Start("n1");
  cluster_.AwaitBalanced({"n1"});
  const auto stored = etcd_.Get(cluster_.Key("config"));
  ASSERT_TRUE(stored.has_value());
  baton::v1::ConfigRecord config;
  ASSERT_TRUE(config.ParseFromString(stored->value()));
  config.set_schema(kConfigSchema + 1);
  etcd_.Put(cluster_.Key("config"), config.SerializeAsString());
  ExpectRefused(cluster_.node("n1"), HasSubstr("schema " + std::to_string(kConfigSchema + 1)));
  EXPECT_EQ(etcd_.Get(cluster_.Key("config"))->value(), config.SerializeAsString());
}

// Two processes with the same id and state directory on one host: the first one holds the lock.
TEST_F(Refusal, OfTheSameNodeTwiceOnOneHost) {
  cluster_.Start("n1");
  const Table before = cluster_.AwaitBalanced({"n1"});
  NodeProcess& twin = cluster_.LaunchTwin("n1");
  ExpectRefused(twin, AllOf(HasSubstr("n1"), HasSubstr("already runs on this host")));
  EXPECT_EQ(cluster_.AwaitBalanced({"n1"}), before);
}

// Two processes with the same id and their own state directories, as on two hosts. The second one
// ends once it is sure that the first one lives (its lease outlived 2 x TTL + 3 s). The first one
// goes on.
TEST_F(Refusal, OfTheSameNodeIdElsewhere) {
  cluster_.Start("n1");
  const Table before = cluster_.AwaitBalanced({"n1"});
  NodeProcess& twin = cluster_.LaunchTwin("n1", {"--state-dir", cluster_.StateDir("elsewhere")});
  ExpectRefused(
      twin, AllOf(HasSubstr("node id 'n1' is in use"), HasSubstr(cluster_.node("n1").endpoint())));
  EXPECT_EQ(cluster_.AwaitBalanced({"n1"}), before);
}

// Errors in flags, environment and file are usage errors: exit code 2, and a line that says what to
// do.
TEST_F(Refusal, OfBadFlagsExitsTwo) {
  const auto exit_of = [&](const std::vector<std::string>& words) {
    app::RunOptions options;
    options.arguments = {BATOND};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    return app::RunProcess(options);
  };
  const app::Ran unknown = exit_of({"--group", "g", "--shards", "4", "--nonsense"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--nonsense"));
  EXPECT_EQ(exit_of({"--shards", "4"}).exit, 2) << "no group";
  EXPECT_EQ(exit_of({"--group", "g"}).exit, 2) << "no shards";
  EXPECT_EQ(exit_of({"--group", "g", "--shards", "4", "--ttl", "fast"}).exit, 2);
  const app::Ran wildcard = exit_of(
      {"--group", "g", "--shards", "4", "--node", "n", "--listen", "0.0.0.0:0", "--insecure"});
  EXPECT_EQ(wildcard.exit, 2);
  EXPECT_THAT(wildcard.err, HasSubstr("--advertise"));
  EXPECT_EQ(exit_of({"--version"}).exit, 0);
}

// If a port is in use, the node says so and exits with 1 before it writes anything to etcd.
TEST_F(Refusal, OfAPortInUse) {
  cluster_.Start("n1");
  cluster_.AwaitBalanced({"n1"});
  NodeProcess& second = cluster_.Launch("n2", {"--listen", cluster_.node("n1").endpoint()});
  ExpectRefused(second, HasSubstr(cluster_.node("n1").endpoint()));
  EXPECT_FALSE(etcd_.Get(cluster_.Key("members/n2")).has_value());
}

}  // namespace
}  // namespace baton::e2e
