// The end of a process whose owner does not get on.
#include "app/daemon/last_resort.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "app/daemon/node_end.h"

namespace baton::app {
namespace {

// Plan: the owner waits for ever. The process ends with the code, and its last line says why.
TEST(LastResortDeathTest, EndsTheProcessAndSaysWhy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wait = [] {
    log::ConfigureLog({});
    const LastResort last_resort(std::chrono::seconds(0), 7);
    for (;;) pause();
  };
  EXPECT_EXIT(wait(), testing::ExitedWithCode(7), "this process ends without them");
}

// Plan: the owner gets on within the bound. Nothing ends.
TEST(LastResort, DoesNothingIfItsOwnerGetsOn) {
  { const LastResort last_resort(std::chrono::hours(1), 7); }
}

// Plan: a node that halts does so while it leads, while it drains, or after its drain. A manager of
// services sees a failure each time, whatever a program's code is.
TEST(NodeEnd, OfAHaltedNodeIsAFailure) {
  const Error halted{ErrorCode::kFailedPrecondition, "etcd went back in time"};
  EXPECT_EQ(ConcludeEnd({.halted = true, .failure = halted}), 1);
  EXPECT_EQ(ConcludeEnd({.halted = true, .failure = {}}), 1);
  EXPECT_EQ(ConcludeEnd({.halted = true, .failure = {}, .program = ExitStatus{}}), 1);
  EXPECT_EQ(ConcludeEnd({.failure = {}}), 0);
  EXPECT_EQ(ConcludeEnd({.failure = Error{ErrorCode::kTimedOut, "late"}}), 0);
  EXPECT_EQ(ConcludeEnd({.failure = Error{ErrorCode::kInternal, "no"}}), 1);
}

}  // namespace
}  // namespace baton::app
