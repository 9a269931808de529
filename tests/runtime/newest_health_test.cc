// A program says in a tight loop how healthy it is.
#include "runtime/newest_health.h"

#include <gtest/gtest.h>

namespace baton::runtime {
namespace {

// Plan: a thousand words between two looks of the loop. One step is on its way, and it takes the
// last word; so does the next one.
TEST(NewestHealth, OneStepIsOnItsWayHoweverOftenItIsSaid) {
  NewestHealth health;
  for (const bool last : {false, true, false}) {
    EXPECT_TRUE(health.Set(!last));
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(health.Set(i % 2 == 0));
    EXPECT_FALSE(health.Set(last));
    EXPECT_EQ(health.Take(), last);
  }
}

}  // namespace
}  // namespace baton::runtime
