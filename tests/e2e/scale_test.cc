// Ten thousand shards: election, balance and failover, within leases and memory.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

/// A process's resident memory in KiB; 0: it is gone.
long ResidentKilobytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    long kilobytes = 0;
    status >> kilobytes;
    return kilobytes;
  }
  return 0;
}

void ExpectSmall(Cluster& cluster, const std::vector<std::string>& nodes) {
  constexpr long kBound = 50 * 1024;
  for (const std::string& node : nodes) {
    const long resident = ResidentKilobytes(cluster.node(node).pid());
    EXPECT_GT(resident, 0);
    EXPECT_LT(resident, kBound) << node << "'s memory in KiB, bound 50 MiB";
    testing::Test::RecordProperty(node + "_rss_kib", std::to_string(resident));
  }
}

// Three nodes elect the leaders of 10,000 shards and share them evenly. One is killed. Within TTL +
// 3 s the other two lead all shards, balanced, and keep their own. No node needs 50 MiB.
TEST(TenThousandShards, AreElectedBalancedAndFailedOverInLittleMemory) {
  Cluster cluster(SharedEtcd(),
                  {.shards = 10'000, .ttl = std::chrono::seconds(5), .flags = kNoGuard});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  ExpectSmall(cluster, {"n1", "n2", "n3"});
  const auto orphans = LedBy(before, "n3");
  cluster.node("n3").Kill();
  const Table after = cluster.AwaitBalanced({"n1", "n2"}, cluster.FailoverBound());
  EXPECT_EQ(Moved(before, after), orphans);
  EXPECT_EQ(Retermed(before, after), orphans);
  ExpectSmall(cluster, {"n1", "n2"});
  EXPECT_EQ(cluster.Metric("n1", "baton_shards_led") + cluster.Metric("n2", "baton_shards_led"),
            10'000);
}

}  // namespace
}  // namespace baton::e2e
