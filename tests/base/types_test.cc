// The values of the model are compared as a whole.
#include "baton/types.h"

#include <gtest/gtest.h>

#include <chrono>

namespace baton {
namespace {

// Plan: two equal values; then one of them differs in its last field.
TEST(Types, LeadershipsAndTransitionsAreComparable) {
  const Leadership led{.shard = ShardId{7}, .term = Term{9}, .leads = true, .activated = true};
  Leadership other = led;
  EXPECT_EQ(other, led);
  other.activated = false;
  EXPECT_NE(other, led);
  const Transition moved{.shard = ShardId{7}, .from = "n1", .to = "n2", .term = Term{9}};
  Transition same = moved;
  EXPECT_EQ(same, moved);
  same.detect = std::chrono::milliseconds(1);
  EXPECT_NE(same, moved);
}

}  // namespace
}  // namespace baton
