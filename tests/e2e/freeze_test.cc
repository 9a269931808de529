// Nodes whose processes are frozen for a while, and nodes whose sessions are revoked.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace baton::e2e
