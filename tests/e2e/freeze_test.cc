// Nodes whose processes or disks are frozen for a while, and nodes whose sessions are revoked.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/subprocess.h"
#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

std::int64_t SessionOf(EtcdClient& etcd, const Cluster& cluster, const std::string& node) {
  const auto member = etcd.Get(cluster.Key("members/" + node));
  return member ? member->lease() : 0;
}

// n3 is stopped for longer than its lease, and its shards are taken over; balance is paused, so no
// shard goes back to it. After it wakes it never says that it leads any of them, however often the
// test asks. It opens a new session and, once balance runs, gets its share again.
TEST(FrozenNode, PastItsLeaseWakesUpLeadingNothingAndJoinsAnew) {
  EtcdClient etcd(SharedEtcd().endpoints());
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = seconds(2)});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  const auto old_shards = LedBy(before, "n3");
  const std::int64_t old_session = SessionOf(etcd, cluster, "n3");
  ASSERT_EQ(cluster.Ctl("n1", {"pause"}).exit, 0);
  NodeProcess& frozen = cluster.node("n3");
  frozen.Pause();
  const Table taken_over = cluster.AwaitBalanced({"n1", "n2"}, cluster.FailoverBound());
  EXPECT_EQ(Moved(before, taken_over), old_shards);

  frozen.Resume();
  const auto leads_nothing = [&] {
    for (const int shard : old_shards) {
      const std::string path = "/shards/" + std::to_string(shard) + "/leader";
      EXPECT_EQ(cluster.HttpStatus("n3", path), 503) << "woke up leading shard " << shard;
    }
    return SessionOf(etcd, cluster, "n3") != old_session && SessionOf(etcd, cluster, "n3") != 0;
  };
  cluster.Await("n3 has a new session", leads_nothing);
  cluster.Await("all agree again", [&](const Table& now) {
    return Moved(taken_over, now).empty() && Retermed(taken_over, now).empty() && !now.empty();
  });
  ASSERT_EQ(cluster.Ctl("n1", {"resume"}).exit, 0);
  cluster.AwaitBalanced({"n1", "n2", "n3"});
}

// n3 is stopped for less than its lease, measured by another node's renewals (one each TTL / 3): no
// shard changes hands, all terms stay.
TEST(FrozenNode, WithinItsLeaseKeepsItsShardsAndTerms) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = seconds(9)});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  const auto renewals = [&] {
    return cluster.Metric("n1", "baton_lease_renewals_total{result=\"confirmed\"}");
  };
  const double first = renewals();
  cluster.node("n3").Pause();
  cluster.Await("n1 renews", [&] { return renewals() > first; });
  cluster.node("n3").Resume();
  const double woken = cluster.Metric("n3", "baton_lease_renewals_total{result=\"confirmed\"}");
  cluster.Await("n3 renews", [&] {
    return cluster.Metric("n3", "baton_lease_renewals_total{result=\"confirmed\"}") > woken;
  });
  const Table after = cluster.AwaitBalanced({"n1", "n2", "n3"});
  EXPECT_THAT(Retermed(before, after), IsEmpty());
  EXPECT_THAT(Moved(before, after), IsEmpty());
}

// An operator revokes n3's lease: n3 loses all its shards at once, opens another session, and the
// group is balanced again. Shards of the others stay until balance needs them.
TEST(RevokedLease, CostsItsNodeEverythingAndItComesBackWithANewSession) {
  EtcdClient etcd(SharedEtcd().endpoints());
  Cluster cluster(SharedEtcd(), {.shards = 12});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  const auto own = LedBy(before, "n3");
  const std::int64_t session = SessionOf(etcd, cluster, "n3");
  ASSERT_GT(session, 0);
  etcd.Revoke(session);
  cluster.Await(
      "each of n3's shards has a new term",
      [&](const Table& now) {
        const auto changed = now.empty() ? std::set<int>{} : Retermed(before, now);
        return std::includes(changed.begin(), changed.end(), own.begin(), own.end());
      },
      cluster.FailoverBound());
  const Table after = cluster.AwaitBalanced({"n1", "n2", "n3"});
  for (const int shard : own) {
    const auto at = static_cast<std::size_t>(shard);
    EXPECT_GT(after[at].term, before[at].term);
  }
  EXPECT_NE(SessionOf(etcd, cluster, "n3"), session);
  EXPECT_NE(SessionOf(etcd, cluster, "n3"), 0);
  EXPECT_TRUE(cluster.node("n3").running());
  EXPECT_THAT(cluster.node("n3").Log(), testing::HasSubstr("session lost"));
}

bool Runs(const std::vector<std::string>& line) {
  const auto ran = RunProgram({.arguments = line}, BootClock::now() + kPatience);
  return ran.ok() && ran.value().success();
}

/// An ext4 of its own that can be frozen, in a mount namespace of this thread and what it starts.
class Disk {
 public:
  explicit Disk(const std::string& folder) : image_(folder + "/image"), path_(folder + "/disk") {
    std::filesystem::create_directory(path_);
    std::ofstream(image_).close();
    std::error_code failed;
    std::filesystem::resize_file(image_, 8 << 20, failed);
    mounted_ = !failed && unshare(CLONE_NEWNS) == 0 &&
               mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               Runs({"mkfs.ext4", "-q", image_}) && Runs({"mount", "-o", "loop", image_, path_});
  }
  ~Disk() {
    if (frozen_) Thaw();
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }
  bool Freeze() { return frozen_ = Runs({"fsfreeze", "-f", path_}); }
  bool Thaw() {
    frozen_ = false;
    return Runs({"fsfreeze", "-u", path_});
  }

 private:
  const std::string image_;
  const std::string path_;
  bool mounted_ = false;
  bool frozen_ = false;
};

// The file system of n2's state directory is frozen for many lives of its lease. n2 says so, and
// keeps its shards and terms. Once the disk goes on, n2's death is proven as ever.
TEST(FrozenStateDisk, CostsNoLeadership) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = seconds(2)});
  Disk disk(cluster.folder());
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount a disk of its own";
  cluster.Start("n1");
  cluster.Start("n2", {"--state-dir", disk.path() + "/n2"});
  const Table before = cluster.AwaitBalanced({"n1", "n2"});
  ASSERT_TRUE(disk.Freeze());
  // n2 commits, and so has a revision to note.
  ASSERT_EQ(cluster.Ctl("n2", {"pause"}).exit, 0);
  ASSERT_EQ(cluster.Ctl("n2", {"resume"}).exit, 0);
  const auto renewals = [&] {
    return cluster.Metric("n2", "baton_lease_renewals_total{result=\"confirmed\"}");
  };
  const double first = renewals();
  cluster.Await("n2 renews for several lives of its lease",
                [&] { return renewals() > first + 15; });
  cluster.Await("n2 says that its disk stands still", [&] {
    return cluster.node("n2").Log().find("takes no writes") != std::string::npos;
  });
  const Table frozen = cluster.AwaitBalanced({"n1", "n2"});
  EXPECT_THAT(Retermed(before, frozen), IsEmpty());
  EXPECT_THAT(cluster.node("n2").Log(), testing::Not(testing::HasSubstr("suspended")));
  ASSERT_TRUE(disk.Thaw());
  const double thawed = renewals();
  cluster.Await("n2 renews", [&] { return renewals() > thawed + 1; });
  EXPECT_THAT(Retermed(before, cluster.AwaitBalanced({"n1", "n2"})), IsEmpty());
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1"});
  EXPECT_EQ(cluster.Metric("n1", "baton_transitions_total{reason=\"process_died\"}"), 6);
}

}  // namespace
}  // namespace baton::e2e
