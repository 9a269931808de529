// Applications that misbehave: a program that embeds a node beside well-behaved batonds.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class Callbacks : public testing::Test {
 protected:
  NodeProcess& StartHanging(const std::string& mode, int shard, const std::string& callback_ms) {
    std::vector<std::string> flags = {"--mode",        mode,       "--shard", std::to_string(shard),
                                      "--callback-ms", callback_ms};
    const std::vector<std::string> common = cluster_.Flags("h");
    flags.insert(flags.end(), common.begin(), common.end());
    NodeProcess& node = cluster_.LaunchProgram("h", HANGING_NODE, flags);
    cluster_.WaitReady(node);
    return node;
  }
  double Renewals(const std::string& id) {
    return cluster_.Metric(id, "baton_lease_renewals_total{result=\"confirmed\"}");
  }
  static std::size_t At(int shard) { return static_cast<std::size_t>(shard); }
  void ExpectClean(NodeProcess& node) {
    node.Signal(SIGTERM);
    const auto exit = node.WaitExit();
    ASSERT_TRUE(exit.has_value());
    EXPECT_TRUE(exit->success()) << ToString(*exit) << node.Log();
  }

  Cluster cluster_{SharedEtcd(), {.shards = 6, .ttl = seconds(3)}};
};

// n1 is asked to rebalance towards `h`, which never finishes preparing. The moves stay in flight
// until an operator cancels them: then they are gone, and n1 leads all shards in the terms it had.
TEST_F(Callbacks, CancelWithdrawsMovesThatAreNotPrepared) {
  cluster_.Start("n1", {"--rebalance-delay", "10m"});
  const Table before = cluster_.AwaitBalanced({"n1"});
  StartHanging("prepare", 0, "60000");
  const auto moving = [](const Table& table) {
    return std::count_if(table.begin(), table.end(),
                         [](const auto& shard) { return shard.state == "moving"; });
  };
  const app::Ran applied = cluster_.Ctl("n1", {"rebalance", "apply", "--detach"});
  ASSERT_EQ(applied.exit, 0) << applied.err;
  cluster_.Await("three shards are moving", [&](const Table& now) { return moving(now) == 3; });
  ASSERT_EQ(cluster_.Ctl("n1", {"rebalance", "cancel"}).exit, 0);
  cluster_.Await("no shard is moving", [&](const Table& now) { return moving(now) == 0; });
  EXPECT_EQ(cluster_.AwaitLed(), before);
  ExpectClean(cluster_.node("h"));
}

// `h` joins n1, gets shard 2 and hangs in its `acquired`. After the callback's bound shard 2 is
// resigned and led by n1. `h` keeps its lease (renewals go on for more than a whole TTL while the
// callback hangs) and activates the other shards that it leads. Each node's status says that the
// callback still runs on `h`.
TEST_F(Callbacks, OneThatHangsCostsItsShardOnly) {
  cluster_.Start("n1");
  StartHanging("hang", 2, "1000");
  cluster_.Await("h leads some shard",
                 [&](const Table& now) { return LedBy(now, "h").size() >= 2; });
  const app::Ran moved = cluster_.Ctl("n1", {"shards", "transfer", "2", "--to", "h", "--detach"});
  // Balance may have moved it there already.
  EXPECT_TRUE(moved.exit == 0 || moved.exit == 6) << moved.exit << moved.err;
  cluster_.Await("h hangs", [&] {
    return cluster_.node("h").Log().find("hanging in shard 2") != std::string::npos;
  });
  cluster_.Await("n1 leads shard 2", [&](const Table& now) {
    return now.size() == 6 && now[2].leader == "n1" && now[2].state == "led";
  });
  for (const char* id : {"h", "n1"}) {
    cluster_.Await("the shard whose callback hangs is named", [&] {
      return cluster_.Ctl(id, {"status"}).out.find("have not returned; shard 2 on h for ") !=
             std::string::npos;
    });
  }
  EXPECT_EQ(cluster_.Metric("h", "baton_shards_stopping"), 1);
  for (const char* id : {"h", "n1"}) {
    EXPECT_THAT(cluster_.Ctl(id, {"doctor"}).out,
                HasSubstr("1 of the shards that h gave up are still stopping"));
  }
  const double renewed = Renewals("h");
  cluster_.Await("four more renewals, over a whole TTL",
                 [&] { return Renewals("h") >= renewed + 4; });
  const auto table = cluster_.Look("h");
  ASSERT_TRUE(table.has_value());
  EXPECT_GE(LedBy(*table, "h").size(), 2u) << "it lost more than the shard that hangs";
  for (const int shard : LedBy(*table, "h")) EXPECT_EQ((*table)[At(shard)].state, "led") << shard;
  EXPECT_GE(cluster_.Metric("h", "baton_callback_failures_total{kind=\"timed_out\"}"), 1);
  EXPECT_EQ(cluster_.Metric("h", "baton_transitions_total{reason=\"suspended\"}"), 0);
  EXPECT_GE(cluster_.Metric("n1", "baton_transitions_total{reason=\"callback_timeout\"}"), 1);
  ExpectClean(cluster_.node("h"));
}

// Shard 2 fails on `h`, its only node, and on no other shard of it. `h` names it, n1 asks `h`; a
// retry on n1 says where to go, one on `h` fails while the cause is there, and succeeds once it is
// gone, in the same term. The other shards don't notice.
TEST_F(Callbacks, OneThatFailsIsNamedAndTriedAgainByAnOperator) {
  const std::string cause = cluster_.folder() + "/broken";
  std::ofstream(cause) << "the state can't be loaded";
  std::vector<std::string> flags = {"--mode",  "throw-while", "--shard",       "2",
                                    "--while", cause,         "--callback-ms", "30000"};
  const std::vector<std::string> common = cluster_.Flags("h");
  flags.insert(flags.end(), common.begin(), common.end());
  cluster_.WaitReady(cluster_.LaunchProgram("h", HANGING_NODE, flags));
  cluster_.Start("n1", {"--weight", "0"});
  const auto status = [&](const std::string& id) { return cluster_.Ctl(id, {"status"}).out; };
  const auto describe = [&](const std::string& id) {
    return cluster_.Ctl(id, {"shards", "describe", "2", "-o", "json"}).out;
  };
  cluster_.Await("shard 2 has failed five times", [&] {
    return cluster_.Metric("h", "baton_shard_failed_activations{shard=\"2\"}", "/metrics/shards") >=
           5;
  });
  for (const char* id : {"h", "n1"}) {
    EXPECT_THAT(status(id), HasSubstr("1 shard fails to activate; shard 2 on h, ")) << id;
    EXPECT_THAT(status(id), HasSubstr("last error: this shard's state can't be loaded")) << id;
    EXPECT_THAT(describe(id), HasSubstr("\"state\":\"activating\"")) << id;
    EXPECT_THAT(describe(id), HasSubstr("this shard's state can't be loaded")) << id;
    const app::Ran doctor = cluster_.Ctl(id, {"doctor"});
    EXPECT_EQ(doctor.exit, 1) << id << doctor.out;
    EXPECT_THAT(doctor.out, HasSubstr("1 of the shards that h leads fail to activate")) << id;
  }
  EXPECT_GE(cluster_.Metric("h", "baton_activation_failures_total"), 5);
  EXPECT_EQ(cluster_.Metric("h", "baton_shards_failing"), 1);
  const std::string worst =
      "baton_worst_failing_shard{shard=\"2\",error=\"this shard's state can't be loaded\"}";
  EXPECT_GE(cluster_.Metric("h", worst), 5);
  const auto before = cluster_.Look("h");
  ASSERT_TRUE(before.has_value());

  const app::Ran elsewhere = cluster_.Ctl("n1", {"shards", "retry", "2"});
  EXPECT_EQ(elsewhere.exit, 6);
  EXPECT_EQ(elsewhere.err, "batonctl: shard 2 is led by 'h': ask that node (--endpoint " +
                               cluster_.node("h").endpoint() + ")\n");
  EXPECT_EQ(cluster_.Ctl("h", {"shards", "retry", "3"}).exit, 6);
  EXPECT_EQ(cluster_.Ctl("h", {"shards", "retry", "2", "--dry-run"}).exit, 0);
  const app::Ran failed = cluster_.Ctl("h", {"shards", "retry", "2"});
  EXPECT_EQ(failed.exit, 1);
  EXPECT_THAT(failed.err, HasSubstr("shard 2 failed again: "));
  std::filesystem::remove(cause);
  const app::Ran done = cluster_.Ctl("h", {"shards", "retry", "2"});
  // The node itself may have been faster.
  const bool by_itself = done.err == "batonctl: shard 2 is active: there is nothing to try again\n";
  EXPECT_TRUE(by_itself || done.out == "shard 2 is active on h\n") << done.out << done.err;
  EXPECT_EQ(done.exit, by_itself ? 6 : 0);
  const Table after = cluster_.AwaitLed();
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].term, (*before)[i].term) << i;
  cluster_.Await("nobody names a failing shard", [&] {
    return status("n1").find("fails to activate") == std::string::npos &&
           cluster_.Metric("h", worst) == 0;
  });
  ExpectClean(cluster_.node("h"));
}

// Callbacks that take 300 ms each delay only the end of activation: all shards are led, no shard is
// resigned, renewals go on.
TEST_F(Callbacks, SlowOnesOnlyDelayActivation) {
  StartHanging("slow", 0, "30000");
  cluster_.AwaitBalanced({"h"});
  cluster_.Start("n1");
  cluster_.AwaitBalanced({"h", "n1"});
  EXPECT_EQ(cluster_.Metric("h", "baton_callback_failures_total{kind=\"timed_out\"}"), 0);
  EXPECT_EQ(cluster_.Metric("h", "baton_transitions_total{reason=\"suspended\"}"), 0);
  ExpectClean(cluster_.node("h"));
}

// `acquired` of shard 2 throws on `h`: the shard is resigned and led by n1; the rest stays.
TEST_F(Callbacks, OneThatThrowsCostsItsShardOnly) {
  cluster_.Start("n1");
  StartHanging("throw", 2, "30000");
  cluster_.Await("h leads some shard",
                 [&](const Table& now) { return LedBy(now, "h").size() >= 2; });
  cluster_.Ctl("n1", {"shards", "transfer", "2", "--to", "h", "--detach"});
  cluster_.Await("a callback failed", [&] {
    return cluster_.Metric("h", "baton_callback_failures_total{kind=\"failed\"}") >= 1;
  });
  cluster_.Await("n1 leads shard 2", [&](const Table& now) {
    return now.size() == 6 && now[2].leader == "n1" && now[2].state == "led" &&
           LedBy(now, "h").size() >= 2;
  });
  EXPECT_TRUE(cluster_.node("h").running());
  ExpectClean(cluster_.node("h"));
}

// On three nodes every `acquired` throws, as if their database were down. Over several renewals no
// lease is lost, and etcd sees at most a claim, one resignation and the other try's claim of each
// shard, and a few moves; after the first of these renewals at most 50 revisions a second. When the
// cause ends, everything is active. Nothing is compacted, and etcd's database grows by a few
// hundred bytes for each of these writes.
TEST_F(Callbacks, AStormOfFailuresLeavesEtcdInPeace) {
  constexpr int kShards = 3000;
  constexpr std::int64_t kMaxGrowth = 16 * 1024 * 1024;
  Cluster cluster(SharedEtcd(), {.shards = kShards, .ttl = seconds(3)});
  EtcdClient etcd(SharedEtcd().endpoints());
  const std::int64_t database = etcd.DatabaseBytes();
  const std::string cause = cluster.folder() + "/down";
  std::ofstream(cause) << "the database is down";
  const std::vector<std::string> ids = {"h1", "h2", "h3"};
  for (const std::string& id : ids) {
    std::vector<std::string> flags = {"--mode",  "throw-all", "--shard",       "0",
                                      "--while", cause,       "--callback-ms", "30000"};
    const std::vector<std::string> common = cluster.Flags(id);
    flags.insert(flags.end(), common.begin(), common.end());
    cluster.LaunchProgram(id, HANGING_NODE, flags);
  }
  for (const std::string& id : ids) cluster.WaitReady(cluster.node(id));
  const auto await_renewals = [&](double count) {
    cluster.Await("renewals while everything fails", [&] {
      return std::all_of(ids.begin(), ids.end(), [&](const std::string& id) {
        return cluster.Metric(id, "baton_lease_renewals_total{result=\"confirmed\"}") >= count;
      });
    });
  };
  await_renewals(10);
  const std::int64_t revision = etcd.Revision();
  const TimePoint since = BootClock::now();
  await_renewals(30);
  const auto seconds_passed =
      std::chrono::duration_cast<std::chrono::seconds>(BootClock::now() - since).count();
  EXPECT_LE(etcd.Revision() - revision, 50 * seconds_passed);
  std::int64_t writes = 0;
  for (const auto& key : etcd.List(cluster.Key("shards/"))) {
    writes += key.version();
  }
  EXPECT_GE(writes, kShards);
  EXPECT_LE(writes, 5 * kShards);
  EXPECT_LE(etcd.DatabaseBytes() - database, kMaxGrowth);
  for (const std::string& id : ids) {
    EXPECT_GE(cluster.Metric(id, "baton_callback_failures_total{kind=\"failed\"}"), 1) << id;
    EXPECT_EQ(cluster.Metric(id, "baton_transitions_total{reason=\"suspended\"}"), 0) << id;
    EXPECT_EQ(cluster.Metric(id, "baton_transitions_total{reason=\"lease_expired\"}"), 0) << id;
  }
  std::filesystem::remove(cause);
  cluster.Await("everything is active", [](const Table& now) {
    return now.size() == kShards && std::all_of(now.begin(), now.end(), [](const auto& shard) {
             return shard.state == "led";
           });
  });
  for (const std::string& id : ids) ExpectClean(cluster.node(id));
}

// Shard 2 kills each process that takes it up, and each comes back at once, so its death is proven
// at once. In 30 s fewer than ten die. Nodes name the shard; when its cause is gone, it is led.
TEST_F(Callbacks, OneThatKillsItsProcessKillsFew) {
  const std::string cause = cluster_.folder() + "/poison";
  std::ofstream(cause) << "a request that nobody survives";
  const auto launch = [&](const std::string& id) {
    std::vector<std::string> flags = {"--mode",  "die", "--shard",       "2",
                                      "--while", cause, "--callback-ms", "30000"};
    const std::vector<std::string> common = cluster_.Flags(id);
    flags.insert(flags.end(), common.begin(), common.end());
    cluster_.LaunchProgram(id, HANGING_NODE, flags);
  };
  const std::vector<std::string> ids = {"h1", "h2", "h3"};
  for (const std::string& id : ids) launch(id);
  int killed = 0;
  const auto start_again = [&] {
    for (const std::string& id : ids) {
      if (cluster_.node(id).running()) continue;
      ++killed;
      launch(id);
    }
    return false;
  };
  Eventually(seconds(30), start_again);
  EXPECT_GT(killed, 2) << "the shard was tried again";
  EXPECT_LT(killed, 10);
  std::filesystem::remove(cause);
  start_again();
  for (const std::string& id : ids) cluster_.WaitReady(cluster_.node(id));
  EXPECT_THAT(cluster_.Ctl("h1", {"doctor"}).out, HasSubstr("shard 2 "));
  cluster_.AwaitLed(std::chrono::minutes(2));
  for (const std::string& id : ids) ExpectClean(cluster_.node(id));
}

}  // namespace
}  // namespace baton::e2e
