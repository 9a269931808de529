// How evenly the shards of a dead leader arrive at their ready standbys. baton_rules tries as many
// groups as one likes.
#include "core/dead_leaders.h"

#include <gtest/gtest.h>

namespace baton::core {
namespace {

TEST(DeadLeaders, ShardsArriveEvenlyAtTheNodesThatTheRulesAllow) {
  EXPECT_EQ(TryDeadLeaders(1, 1'000 / BATON_FEWER_SEEDS).wrong, "");
}

}  // namespace
}  // namespace baton::core
