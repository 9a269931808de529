// etcd is wiped or restored from a backup while nodes run.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using testing::HasSubstr;

constexpr int kLaterCommits = 300;  // between the backup and the disaster
/// From etcd's return to the line. Keepalives and watches reconnect, and one renewal is made.
constexpr std::chrono::seconds kNoticedWithin{10};
const std::vector<std::string> kNodes{"n1", "n2"};

class EtcdUnderNodes : public testing::Test {
 protected:
  void SetUp() override {
    auto started = StartEtcd();
    ASSERT_TRUE(started.ok()) << started.error().message;
    etcd_ = std::move(started).value();
    cluster_ = std::make_unique<Cluster>(*etcd_, GroupOptions{.shards = 12, .ttl = kShortLease});
    backup_ = cluster_->folder() + "/backup.db";
  }

  /// Two nodes run, and etcd is restarted once, so that its raft term is above its first. A backup
  /// is taken. Then all shards change hands, and etcd goes on.
  void RunUntilTheDisaster() {
    cluster_->StartAll(kNodes);
    cluster_->AwaitBalanced({"n1", "n2"});
    const Status restarted = etcd_->Restart(0);
    ASSERT_TRUE(restarted.ok()) << restarted.error().message;
    cluster_->AwaitBalanced({"n1", "n2"});
    const Status saved = etcd_->SaveSnapshot(backup_);
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    for (const std::string node : {"n1", "n2"}) {
      ASSERT_EQ(cluster_->Ctl("n1", {"nodes", "drain", node}).exit, 0);
      cluster_->AwaitBalanced({node == "n1" ? "n2" : "n1"});
      ASSERT_EQ(cluster_->Ctl("n1", {"nodes", "undrain", node}).exit, 0);
    }
    EtcdClient client(etcd_->endpoints());
    for (int i = 0; i < kLaterCommits; ++i) client.Put("/others/key", std::to_string(i));
    newest_ = client.Revision();
    const std::string renewals = "baton_lease_renewals_total{result=\"confirmed\"}";
    for (const std::string& node : kNodes) {
      const double renewed = cluster_->Metric(node, renewals);
      cluster_->Await("a renewal", [&] { return cluster_->Metric(node, renewals) > renewed + 1; });
    }
  }
  void Restore(lab::RestoredAs as) {
    const Status restored = etcd_->Restore(backup_, as);
    ASSERT_TRUE(restored.ok()) << restored.error().message;
  }
  void Wipe() {
    etcd_->Kill(0);
    for (const auto& entry : std::filesystem::directory_iterator(etcd_->folder())) {
      if (entry.is_directory()) std::filesystem::remove_all(entry);
    }
    const Status started = etcd_->Restart(0);
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void ExpectEachHaltsSoon(const std::string& why) {
    for (const std::string& id : kNodes) {
      NodeProcess& node = cluster_->node(id);
      const auto ended = node.WaitExit(kNoticedWithin);
      ASSERT_TRUE(ended.has_value()) << id << " runs on:\n" << node.Log();
      EXPECT_EQ(ended->code, 1) << node.Log();
      EXPECT_THAT(node.Log(), HasSubstr("halted: etcd went back in time: " + why));
    }
  }
  /// Starts the nodes, and waits until they lead all. Returns the oldest term.
  std::int64_t OldestTermAfterAStart() {
    cluster_->StartAll(kNodes);
    const Table table = cluster_->AwaitLed();
    return std::min_element(table.begin(), table.end(),
                            [](const Row& one, const Row& other) { return one.term < other.term; })
        ->term;
  }
  app::Ran Recover() {
    std::vector<std::string> words{BATONCTL,          "recover", "--group",
                                   cluster_->group(), "--etcd",  etcd_->endpoints().front(),
                                   "--margin",        "1000"};
    for (const std::string& id : kNodes) {
      words.insert(words.end(), {"--state-dir", cluster_->StateDir(id)});
    }
    app::Ran ran;
    Eventually(kPatience, [&] {  // while members of the backup have their leases, it refuses
      ran = app::RunProcess({.arguments = words, .input = "", .watch = {}});
      return ran.exit != 6;
    });
    return ran;
  }

  std::unique_ptr<lab::PrivateEtcd> etcd_;
  std::unique_ptr<Cluster> cluster_;
  std::string backup_;
  std::int64_t newest_ = 0;
};

// Plan: an etcd that was restarted once is wiped under two nodes. Both halt within seconds and say
// which file to delete. Once it is deleted they start and lead all shards.
TEST_F(EtcdUnderNodes, IsWiped) {
  RunUntilTheDisaster();
  Wipe();
  ExpectEachHaltsSoon("a commit of ours had revision ");
  for (const std::string& id : kNodes) {
    const std::string file = cluster_->StateDir(id) + "/session.lock";
    EXPECT_THAT(cluster_->node(id).Log(), HasSubstr("delete " + file + " and start it again"));
    ASSERT_TRUE(std::filesystem::remove(file));
  }
  EtcdClient client(etcd_->endpoints());
  while (client.Revision() <= newest_ + kLaterCommits) client.Put("/others/key", "again");
  EXPECT_GT(OldestTermAfterAStart(), newest_) << "the checks of all tests compare terms";
}

// Plan: it is restored from its backup. Both halt, `recover` raises its revision, and the nodes
// lead with terms above all earlier ones.
TEST_F(EtcdUnderNodes, IsRestored) {
  RunUntilTheDisaster();
  Restore(lab::RestoredAs::kSameCluster);
  ExpectEachHaltsSoon("a commit of ours had revision ");
  const app::Ran ran = Recover();
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_GT(OldestTermAfterAStart(), newest_);
}

// Plan: it is restored with its revision raised. No commit is below an earlier one, but a read
// shows keys older than they were: both halt. Started again, they lead with terms above all earlier
// ones.
TEST_F(EtcdUnderNodes, IsRestoredWithARaisedRevision) {
  if (!etcd_->CanRaiseRevisions()) GTEST_SKIP() << "no etcdutl with --bump-revision on PATH";
  RunUntilTheDisaster();
  Restore(lab::RestoredAs::kSameClusterRaised);
  ExpectEachHaltsSoon("a key had revision ");
  EXPECT_GT(OldestTermAfterAStart(), newest_);
}

}  // namespace
}  // namespace baton::e2e
