// Drains by operators and by SIGTERM, alone and while other nodes join.
#include <csignal>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baton/v1/records.pb.h"
#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;

/// Checks that exactly `shards` have other leaders and other terms.
void ExpectOnly(const std::set<int>& shards, const Table& before, const Table& after) {
  EXPECT_EQ(Moved(before, after), shards);
  EXPECT_EQ(Retermed(before, after), shards);
}

// `nodes drain` moves n3's shards, and no others. The drain stands when n3 is restarted; undrain
// ends it.
TEST(Drain, ByAnOperatorSurvivesARestartUntilUndrain) {
  Cluster cluster(SharedEtcd(), {.shards = 12});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  const app::Ran drained = cluster.Ctl("n1", {"nodes", "drain", "n3"});
  EXPECT_EQ(drained.exit, 0) << drained.out << drained.err;
  const Table without = cluster.AwaitBalanced({"n1", "n2"});
  ExpectOnly(LedBy(before, "n3"), before, without);
  const std::string told = cluster.Ctl("n1", {"whoami"}).out;
  const std::string me = told.substr(0, told.rfind(": "));
  EXPECT_THAT(cluster.Ctl("n1", {"history"}).out,
              AllOf(ContainsRegex("n3 +n[12] +drain +[0-9]+ "), HasSubstr(" " + me + " ")))
      << "who drained it";

  cluster.node("n3").Kill();
  cluster.Start("n3");
  cluster.Await("n3 shows the group as it was", [&](const Table& now) {
    return !now.empty() && Moved(without, now).empty() && Retermed(without, now).empty();
  });
  EXPECT_THAT(cluster.Ctl("n3", {"nodes", "list", "-o", "json"}).out,
              HasSubstr("\"node\":\"n3\",\"live\":true,\"state\":\"active\",\"drained\":true"));
  EXPECT_EQ(cluster.Ctl("n1", {"rebalance", "plan"}).out, "") << "the drained node is given shards";

  EXPECT_EQ(cluster.Ctl("n2", {"nodes", "undrain", "n3"}).exit, 0);
  cluster.AwaitBalanced({"n1", "n2", "n3"});
}

// Balance can't do anything: it is paused, its delay is an hour, and so is the cooldown of a shard
// that an operator has just moved to n3. The drain moves n3's shards all the same, that one too,
// and SIGTERM moves those of n2. Each record is written once, so no shard was resigned and claimed.
TEST(Drain, IgnoresCooldownDelayAndPause) {
  EtcdClient etcd(SharedEtcd().endpoints());
  Cluster cluster(SharedEtcd(), {.shards = 12});
  // The test waits for all three: balance would give nothing to a node that comes later.
  for (const char* id : {"n1", "n2", "n3"}) {
    cluster.Launch(id, {"--rebalance-delay", "1h", "--cooldown", "1h", "--expect-nodes", "3",
                        "--settle", "30s"});
  }
  for (const char* id : {"n1", "n2", "n3"}) cluster.WaitReady(cluster.node(id));
  const Table even = cluster.AwaitBalanced({"n1", "n2", "n3"});
  ASSERT_EQ(cluster.Ctl("n1", {"pause"}).exit, 0);
  const int shard = *LedBy(even, "n1").begin();
  const app::Ran moved =
      cluster.Ctl("n1", {"shards", "transfer", std::to_string(shard), "--to", "n3"});
  ASSERT_EQ(moved.exit, 0) << moved.err;
  const Table before = cluster.AwaitLed();
  ASSERT_EQ(Moved(even, before), std::set<int>{shard});

  const app::Ran drained = cluster.Ctl("n1", {"nodes", "drain", "n3"});
  EXPECT_EQ(drained.exit, 0) << drained.out << drained.err;
  const Table without = cluster.AwaitBalanced({"n1", "n2"});
  ExpectOnly(LedBy(before, "n3"), before, without);
  EXPECT_EQ(cluster.Metric("n1", "baton_paused"), 1);

  std::map<std::string, std::int64_t> versions;
  for (const auto& stored : etcd.List(cluster.Key("shards/")))
    versions[stored.key()] = stored.version();
  cluster.node("n2").Signal(SIGTERM);
  const Table alone = cluster.AwaitBalanced({"n1"});
  ExpectOnly(LedBy(without, "n2"), without, alone);
  const auto exit = cluster.node("n2").WaitExit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->success()) << ToString(*exit) << cluster.node("n2").Log();
  std::int64_t writes = 0;
  for (const auto& stored : etcd.List(cluster.Key("shards/")))
    writes += stored.version() - versions[stored.key()];
  EXPECT_EQ(writes, static_cast<std::int64_t>(LedBy(without, "n2").size()));
}

// At SIGTERM every shard is handed over, by moves and not by succession. The node exits with 0, and
// its member key is gone.
TEST(Drain, BySigtermHandsEverythingOverAndExitsZero) {
  EtcdClient etcd(SharedEtcd().endpoints());
  Cluster cluster(SharedEtcd(), {.shards = 12});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  cluster.node("n3").Signal(SIGTERM);
  const Table after = cluster.AwaitBalanced({"n1", "n2"});
  ExpectOnly(LedBy(before, "n3"), before, after);
  const auto exit = cluster.node("n3").WaitExit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->success()) << ToString(*exit) << cluster.node("n3").Log();
  EXPECT_FALSE(etcd.Get(cluster.Key("members/n3")).has_value());
  const std::string gained = "baton_transitions_total{reason=\"shutdown\"}";
  EXPECT_EQ(cluster.Metric("n1", gained) + cluster.Metric("n2", gained), 4);
  const std::string expired = "baton_transitions_total{reason=\"lease_expired\"}";
  EXPECT_EQ(cluster.Metric("n1", expired) + cluster.Metric("n2", expired), 0);
}

// The last node resigns every shard, with its name and the reason, and exits with 0. A node that
// starts later leads them without waiting for a lease.
TEST(Drain, OfTheLastNodeResignsEveryShard) {
  EtcdClient etcd(SharedEtcd().endpoints());
  Cluster cluster(SharedEtcd(), {.shards = 6, .ttl = std::chrono::seconds(20)});
  cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  cluster.node("n1").Signal(SIGTERM);
  const auto exit = cluster.node("n1").WaitExit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->success()) << ToString(*exit) << cluster.node("n1").Log();
  for (const auto& stored : etcd.List(cluster.Key("shards/"))) {
    baton::v1::LeadershipRecord record;
    ASSERT_TRUE(record.ParseFromString(stored.value()));
    EXPECT_EQ(record.leader(), "") << stored.key();
    EXPECT_EQ(record.resigned_by(), "n1") << stored.key();
    EXPECT_EQ(record.reason(), baton::v1::RECORD_REASON_SHUTDOWN) << stored.key();
  }
  EXPECT_THAT(etcd.List(cluster.Key("members/")), IsEmpty());
  cluster.Start("n2");
  cluster.AwaitBalanced({"n2"}, cluster.ttl() / 2);
}

// n4 joins while n3 is drained. Both end, and all other shards stay, except those that n4 needs.
TEST(Drain, AndAJoinAtTheSameTimeBothEnd) {
  Cluster cluster(SharedEtcd(), {.shards = 12});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  NodeProcess& joining = cluster.Launch("n4");
  EXPECT_EQ(cluster.Ctl("n1", {"nodes", "drain", "n3", "--detach"}).exit, 0);
  cluster.WaitReady(joining);
  const Table after = cluster.AwaitBalanced({"n1", "n2", "n4"});
  EXPECT_THAT(LedBy(before, "n3"), IsSubsetOf(Moved(before, after)));
}

// etcd is away when SIGTERM comes: the node exits with 1 and doesn't hang.
TEST(Drain, WithEtcdAwayExitsOne) {
  auto started = StartEtcd();
  ASSERT_TRUE(started.ok()) << started.error().message;
  lab::PrivateEtcd& own = *started.value();
  Cluster cluster(own, {.shards = 6, .ttl = kShortLease, .flags = {"--drain-timeout", "2s"}});
  cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  own.Kill(0);
  cluster.node("n1").Signal(SIGTERM);
  const auto exit = cluster.node("n1").WaitExit();
  ASSERT_TRUE(exit.has_value()) << "still running";
  EXPECT_EQ(exit->code, 1) << ToString(*exit);
}

// A second SIGTERM ends the process at once, whatever it waits for.
TEST(Drain, ASecondSigtermExitsAtOnce) {
  auto started = StartEtcd();
  ASSERT_TRUE(started.ok()) << started.error().message;
  lab::PrivateEtcd& own = *started.value();
  Cluster cluster(own, {.shards = 6, .ttl = kShortLease, .flags = {"--drain-timeout", "10m"}});
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  own.Pause(0);
  NodeProcess& node = cluster.node("n1");
  node.Signal(SIGTERM);
  EXPECT_TRUE(Eventually(kPatience, [&] {
    return node.Log().find("a second signal exits at once") != std::string::npos;
  }));
  EXPECT_TRUE(node.running());
  node.Signal(SIGTERM);
  const auto exit = node.WaitExit(std::chrono::seconds(5));
  EXPECT_TRUE(exit.has_value()) << "still running";
}

}  // namespace
}  // namespace baton::e2e
