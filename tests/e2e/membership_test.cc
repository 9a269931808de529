// Nodes come and go: which node leads which shard afterwards, within which bound, and which shards
// stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;

milliseconds Since(TimePoint start) {
  return duration_cast<milliseconds>(BootClock::now() - start);
}

// Three empty nodes start at once: every shard gets a leader, four each, and all agree.
TEST(Membership, ThreeNodesElectAndBalance) {
  Cluster cluster(SharedEtcd(), {.shards = 12});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table table = cluster.AwaitBalanced({"n1", "n2", "n3"});
  for (const Row& row : table) EXPECT_GT(row.term, 0);
}

// A fourth node joins twelve shards: it gets exactly its three, one from each, and no other shard
// changes leader or term.
TEST(Membership, AJoiningNodeGetsItsShareWithTheFewestMoves) {
  Cluster cluster(SharedEtcd(), {.shards = 12});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  cluster.Start("n4");
  const Table after = cluster.AwaitBalanced({"n1", "n2", "n3", "n4"});
  EXPECT_EQ(Moved(before, after).size(), 3u);
  EXPECT_EQ(Moved(before, after), LedBy(after, "n4"));
  EXPECT_EQ(Retermed(before, after), LedBy(after, "n4"));
}

// After kill -9 the node's shards, and no others, are led again within TTL + 3 s, balanced at once.
TEST(Membership, AKilledNodesShardsAloneAreTakenOverWithinTheLease) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = kShortLease, .flags = kNoGuard});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  const auto orphans = LedBy(before, "n3");
  cluster.node("n3").Kill();
  const Table after = cluster.AwaitBalanced({"n1", "n2"}, cluster.FailoverBound());
  EXPECT_EQ(Moved(before, after), orphans);
  EXPECT_EQ(Retermed(before, after), orphans) << "a survivor's shard changed its term";
  for (const int shard : orphans) {
    EXPECT_GT(after[static_cast<std::size_t>(shard)].term,
              before[static_cast<std::size_t>(shard)].term);
  }
}

// The process is killed and starts again at once with its state directory, the proof of death. It
// leads the same shards in higher terms, far sooner than its lease of 20 s would have run out. The
// others keep theirs.
TEST(Membership, ARestartedNodeLeadsItsShardsAgainWithoutWaitingForItsLease) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = seconds(20), .flags = kNoGuard});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  const auto own = LedBy(before, "n3");
  const TimePoint killed = BootClock::now();
  cluster.node("n3").Kill();
  cluster.Start("n3");
  cluster.Await("the restarted node's shards have new terms", [&](const Table& now) {
    return Retermed(before, now) == own && LedBy(now, "n3") == own;
  });
  EXPECT_LT(Since(killed), cluster.ttl() / 2);
  const Table after = cluster.AwaitBalanced({"n1", "n2", "n3"});
  EXPECT_THAT(Moved(before, after), IsEmpty());
  EXPECT_EQ(Retermed(before, after), own);
  for (const int shard : own) {
    EXPECT_GT(after[static_cast<std::size_t>(shard)].term,
              before[static_cast<std::size_t>(shard)].term);
  }
  EXPECT_EQ(cluster.Metric("n3", "baton_transitions_total{reason=\"process_died\"}"), own.size());
}

// Without its state directory the same node has no proof, so its old lease must run out. That takes
// at least as long as the last renewal before the kill covers (TTL - TTL/3, less the margin of
// etcd's clock).
TEST(Membership, ARestartWithoutStateWaitsForTheOldLease) {
  Cluster cluster(SharedEtcd(), {.shards = 6, .ttl = seconds(6), .flags = kNoGuard});
  cluster.StartAll({"n1", "n2"});
  const Table before = cluster.AwaitBalanced({"n1", "n2"});
  const TimePoint killed = BootClock::now();
  cluster.node("n2").Kill();
  NodeProcess& again = cluster.Launch("n2", {"--state-dir", cluster.StateDir("n2-empty")});
  cluster.Await(
      "the orphans have new terms",
      [&](const Table& now) { return Retermed(before, now) == LedBy(before, "n2"); },
      cluster.FailoverBound());
  EXPECT_GE(Since(killed), cluster.ttl() / 2);
  cluster.WaitReady(again);
  cluster.AwaitBalanced({"n1", "n2"});
}

// Somebody has put a node's key by hand, without a lease: before it starts, and while it leads. It
// is no session: the node replaces it and leads its share, without waiting for anything to expire.
TEST(Membership, AKeyPutByHandBlocksNoNode) {
  Cluster cluster(SharedEtcd(), {.shards = 12});
  EtcdClient etcd(SharedEtcd().endpoints());
  etcd.Put(cluster.Key("members/n2"), "by hand");
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  etcd.Put(cluster.Key("members/n2"), "by hand");
  cluster.Await("n2 has replaced its key", [&] {
    const auto member = etcd.Get(cluster.Key("members/n2"));
    return member && member->lease() != 0;
  });
  cluster.AwaitBalanced({"n1", "n2"});
}

}  // namespace
}  // namespace baton::e2e
