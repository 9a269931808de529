// batonctl recover: etcd is restored from a backup, and terms go on growing.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using testing::HasSubstr;

constexpr int kLaterCommits = 300;  // between the backup and the disaster

std::unique_ptr<lab::PrivateEtcd> OwnEtcd() {
  auto started = StartEtcd();
  if (started) return std::move(started).value();
  ADD_FAILURE() << started.error().message;
  return nullptr;
}

std::pair<std::int64_t, std::int64_t> OldestAndNewestTerm(const Table& table) {
  const auto [oldest, newest] =
      std::minmax_element(table.begin(), table.end(),
                          [](const auto& one, const auto& other) { return one.term < other.term; });
  return {oldest->term, newest->term};
}

/// Runs batonctl recover for the cluster's group.
app::Ran Recover(const Cluster& cluster, const lab::PrivateEtcd& etcd,
                 std::vector<std::string> words,
                 std::function<void(const app::Ran&, pid_t)> watch = {}) {
  words.insert(words.begin(), {BATONCTL, "recover", "--group", cluster.group(), "--etcd",
                               etcd.endpoints().front()});
  const std::vector<std::string> flags = EtcdFlags();
  words.insert(words.end(), flags.begin(), flags.end());
  return app::RunProcess({.arguments = std::move(words), .input = "", .watch = std::move(watch)});
}

/// Waits until the node's state directory has the newest revision, which it notes with a renewal.
void AwaitRenewal(Cluster& cluster, const std::string& node) {
  const std::string renewals = "baton_lease_renewals_total{result=\"confirmed\"}";
  const double renewed = cluster.Metric(node, renewals);
  cluster.Await("a renewal", [&] { return cluster.Metric(node, renewals) > renewed + 1; });
}

/// Two nodes run and a backup is taken. Then they run on, and both are killed. Returns the newest
/// term that there was.
std::int64_t RunUntilTheDisaster(Cluster& cluster, lab::PrivateEtcd& etcd,
                                 const std::string& backup) {
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  EXPECT_TRUE(etcd.SaveSnapshot(backup).ok());
  EtcdClient client(etcd.endpoints());
  for (int i = 0; i < kLaterCommits; ++i) client.Put("/others/key", std::to_string(i));
  EXPECT_EQ(cluster.Ctl("n1", {"nodes", "drain", "n1"}).exit, 0);
  const Table last = cluster.AwaitBalanced({"n2"});
  AwaitRenewal(cluster, "n2");
  cluster.node("n1").Kill();
  cluster.node("n2").Kill();
  return OldestAndNewestTerm(last).second;
}

/// Runs one node and stops it by SIGTERM: the group exists then, without members.
void RunOnce(Cluster& cluster) {
  NodeProcess& node = cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  node.Signal(SIGTERM);
  EXPECT_TRUE(node.WaitExit().has_value());
}

void ExpectHalts(Cluster& cluster, const std::string& node, const std::string& why) {
  NodeProcess& started = cluster.Launch(node);
  EXPECT_TRUE(Eventually(kPatience, [&] { return started.Log().find(why) != std::string::npos; }))
      << started.Log();
  started.Kill();
}

/// Repeats the recovery while members of the backup still have their leases.
app::Ran RecoverOnceAlone(Cluster& cluster, const lab::PrivateEtcd& etcd) {
  app::Ran ran;
  EXPECT_TRUE(Eventually(kPatience, [&] {
    ran = Recover(cluster, etcd,
                  {"--state-dir", cluster.StateDir("n1"), "--state-dir", cluster.StateDir("n2"),
                   "--margin", "1000"});
    return ran.exit != 6;
  }));
  return ran;
}

class Restored : public testing::TestWithParam<lab::RestoredAs> {};

// Plan: a backup is taken, shards move, all nodes end, and the backup is restored, with the
// cluster's id or with another one. A node halts and says what it found. After `recover` the nodes
// start with their old state directories, and all shards are led with terms above all earlier ones.
// A drain that began after the backup is forgotten.
TEST_P(Restored, GoesOnWithTermsAboveAllEarlierOnes) {
  const auto etcd = OwnEtcd();
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 12, .ttl = kShortLease});
  const std::string backup = cluster.folder() + "/backup.db";
  const std::int64_t newest = RunUntilTheDisaster(cluster, *etcd, backup);
  const Status restored = etcd->Restore(backup, GetParam());
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  ExpectHalts(cluster, "n2",
              GetParam() == lab::RestoredAs::kSameCluster ? "etcd went back in time"
                                                          : "belongs to etcd cluster");
  const app::Ran ran = RecoverOnceAlone(cluster, *etcd);
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("recovered: terms go on above"));
  cluster.StartAll({"n1", "n2"});
  EXPECT_GT(OldestAndNewestTerm(cluster.AwaitBalanced({"n1", "n2"})).first, newest);
  EXPECT_FALSE(EtcdClient(etcd->endpoints()).Get(cluster.Key("recovery")).has_value());
}
INSTANTIATE_TEST_SUITE_P(Backup, Restored,
                         testing::Values(lab::RestoredAs::kSameCluster,
                                         lab::RestoredAs::kAnotherCluster),
                         [](const auto& variant) {
                           return variant.param == lab::RestoredAs::kSameCluster
                                      ? "OfTheSameCluster"
                                      : "AsAnotherCluster";
                         });

/// Wipes etcd as a developer does: kills it, deletes its data, and starts it again.
void Wipe(lab::PrivateEtcd& etcd) {
  etcd.Kill(0);
  for (const auto& entry : std::filesystem::directory_iterator(etcd.folder())) {
    if (entry.is_directory()) std::filesystem::remove_all(entry);
  }
  const Status started = etcd.Restart(0);
  ASSERT_TRUE(started.ok()) << started.error().message;
}

// Plan: etcd is wiped, and a node starts with its old state directory. It halts, and one line says
// what to do after a restored backup and what to do after a wipe. Once the file that it names is
// deleted, the node starts and leads.
TEST(WipedEtcd, IsStartedAgainOnceTheFileIsDeletedThatTheNodeNames) {
  const auto etcd = OwnEtcd();
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 4, .ttl = kShortLease});
  NodeProcess& node = cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  EtcdClient client(etcd->endpoints());
  for (int i = 0; i < kLaterCommits; ++i) client.Put("/others/key", std::to_string(i));
  AwaitRenewal(cluster, "n1");
  node.Signal(SIGTERM);
  ASSERT_TRUE(node.WaitExit().has_value());
  Wipe(*etcd);
  const std::string file = cluster.StateDir("n1") + "/session.lock";
  ExpectHalts(cluster, "n1", "etcd went back in time");
  const std::string log = cluster.node("n1").Log();
  EXPECT_THAT(log, HasSubstr("run `batonctl recover --group " + cluster.group() + " --etcd " +
                             etcd->endpoints().front() + " --state-dir " + cluster.StateDir("n1")));
  EXPECT_THAT(
      log,
      HasSubstr(
          "; if etcd was wiped, and neither its data nor the terms that your storage keeps are "
          "needed any more, stop this node, delete " +
          file + " and start it again"));
  ASSERT_TRUE(std::filesystem::remove(file));
  cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
}

// Plan: each unsafe call is refused with its reason, and nothing is written.
TEST(Recover, RefusesWhatItCanNotDoSafely) {
  Cluster cluster(SharedEtcd(), {.shards = 4, .ttl = kShortLease});
  cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  EtcdClient client(SharedEtcd().endpoints());
  const auto config = client.Get(cluster.Key("config"));
  ASSERT_TRUE(config.has_value());
  const auto refused = [&](const std::vector<std::string>& words, int exit,
                           const std::string& why) {
    const app::Ran ran = Recover(cluster, SharedEtcd(), words);
    EXPECT_EQ(ran.exit, exit) << ran.out << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  refused({}, 2, "--state-dir");
  refused({"--above", "0"}, 2, "--above");
  refused({"--state-dir", cluster.StateDir("n1")}, 6, "locked by a living process");
  refused({"--state-dir", cluster.folder()}, 4, "--state-dir");
  refused({"--above", "1"}, 6, "the group has members: " + cluster.Key("members/n1"));
  refused({"--above", "1", "--lost"}, 6, "the group exists");
  refused({"--above", "1", "--margin", "-1"}, 2, "--margin");
  if (TheWorld() == World::kAuth) {
    refused({"--above", "1", "--etcd-prefix", "/elsewhere"}, 3, "permission denied");
  } else {
    refused({"--above", "1", "--etcd-user", "root"}, 2, "a user needs a password");
    refused({"--above", "1", "--etcd-prefix", "/elsewhere"}, 4, "holds no config of group");
  }
  EXPECT_EQ(client.Get(cluster.Key("config"))->mod_revision(), config->mod_revision());
}

// Plan: a stopped group. A dry run says what would be done and does nothing. The real run raises
// the revision as far as asked, and a second one finds nothing to raise.
TEST(Recover, RaisesAsFarAsAskedAndNoFarther) {
  const auto etcd = OwnEtcd();
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 4, .ttl = kShortLease});
  RunOnce(cluster);
  EtcdClient client(etcd->endpoints());
  const std::int64_t before = client.Revision();
  const std::string above = std::to_string(before + 5000);
  const app::Ran dry = Recover(cluster, *etcd, {"--above", above, "--margin", "0", "--dry-run"});
  EXPECT_EQ(dry.exit, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("raise it to " + above));
  EXPECT_EQ(client.Revision(), before);
  const app::Ran ran = Recover(cluster, *etcd, {"--above", above, "--margin", "0", "-o", "json"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"result\":\"done\""));
  const std::int64_t after = client.Revision();
  EXPECT_GE(after, before + 5000);
  EXPECT_LE(after, before + 5000 + 200) << "commits under way, and the config";
  const app::Ran again = Recover(cluster, *etcd, {"--above", above, "--margin", "0"});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("above " + above + " already"));
}

// Plan: Ctrl-C half-way. A node that starts then halts and says why. The same command opens the
// group, and nodes lead with terms above all that.
TEST(Recover, KeepsNodesOffUntilItIsAtItsEnd) {
  const auto etcd = OwnEtcd();
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 4, .ttl = kShortLease});
  RunOnce(cluster);
  const std::int64_t above = EtcdClient(etcd->endpoints()).Revision() + 50'000;
  const std::vector<std::string> words{"--above", std::to_string(above), "--margin", "0"};
  const app::Ran half = Recover(cluster, *etcd, words, [](const app::Ran& so_far, pid_t pid) {
    if (so_far.err.find(" of ") != std::string::npos) kill(pid, SIGINT);
  });
  ASSERT_EQ(half.exit, 130) << half.out << half.err;
  EXPECT_THAT(half.err, HasSubstr("no node can start until"));
  ExpectHalts(cluster, "n1", "closed by a recovery that has not finished");
  const app::Ran rest = Recover(cluster, *etcd, words);
  ASSERT_EQ(rest.exit, 0) << rest.out << rest.err;
  cluster.Start("n1");
  EXPECT_GT(OldestAndNewestTerm(cluster.AwaitBalanced({"n1"})).first, above);
}

// Plan: the backup has nothing of the group. recover says so and asks for --lost. While it raises
// the revision the group is closed; in the end there is nothing of it in etcd.
TEST(Recover, OfALostGroupLeavesNothingBehind) {
  const auto etcd = OwnEtcd();
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 4, .ttl = kShortLease});
  EtcdClient client(etcd->endpoints());
  EXPECT_EQ(Recover(cluster, *etcd, {"--above", "500"}).exit, 4);
  const app::Ran ran = Recover(cluster, *etcd, {"--above", "500", "--margin", "500", "--lost"});
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_FALSE(client.Get(cluster.Key("config")).has_value());
  EXPECT_FALSE(client.Get(cluster.Key("recovery")).has_value());
  cluster.Start("n1");
  EXPECT_GT(OldestAndNewestTerm(cluster.AwaitBalanced({"n1"})).first, 1000);
}

}  // namespace
}  // namespace baton::e2e
