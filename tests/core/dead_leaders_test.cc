// How evenly the shards of a dead leader arrive at their ready standbys. baton_rules tries as many
// groups as one likes.
#include "core/dead_leaders.h"

#include <gtest/gtest.h>

namespace baton::core {
namespace {

// Plan: a leader dies in each of a thousand groups. Whatever part of the rules says who may take
// over, nobody else does, and nobody gets much more than its part. The bound is judged often for
// each part: at nodes that would break it if all went there.
TEST(DeadLeaders, ShardsArriveEvenlyAtTheNodesThatTheRulesAllow) {
  const DeadLeaders found = TryDeadLeaders(1, 1'000 / BATON_FEWER_SEEDS);
  EXPECT_EQ(found.wrong, "");
  if (BATON_FEWER_SEEDS > 1) return;
  for (std::size_t by = 0; by < kHeirsBy; ++by) {
    EXPECT_GE(found.judged[by].groups, 30u) << ToString(HeirsBy(by));
    EXPECT_GE(found.judged[by].nodes, 300u) << ToString(HeirsBy(by));
  }
}

}  // namespace
}  // namespace baton::core
