// The shortest way from an empty etcd to a balanced group.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

// Plan: three nodes start together on an empty etcd and share twelve shards, four each.
TEST(CoreSmoke, ThreeNodesShareTwelveShards) {
  Cluster cluster({});
  cluster.StartAll();
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(20)))
      << cluster.WhyNotSettled();
  for (const NodeId& node : cluster.names()) EXPECT_EQ(cluster.LedBy(node), 4u) << node;
  EXPECT_EQ(cluster.violations(), std::vector<std::string>{});
}

}  // namespace
}  // namespace baton::test
