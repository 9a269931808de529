// batonctl events, called as a function: what is hard to time with the program itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "app/ctl/events.h"
#include "app/ctl/interrupt.h"

namespace baton::app {
namespace {

// Plan: Ctrl-C comes during the first call, which asks whether the shard exists. That ends the
// command as it ends following: exit code 130, and no message. In a process of its own, because
// the interrupt stays.
TEST(EventsDeathTest, CtrlCDuringTheFirstCallEndsFollowing) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto follow = [] {
    Interrupt::Raise();
    const ExitCode exit =
        ShowEvents({.endpoint = "127.0.0.1:1"}, {.follow = true, .shard = ShardId{1}});
    _exit(static_cast<int>(exit));
  };
  EXPECT_EXIT(follow(), testing::ExitedWithCode(130), testing::IsEmpty());
}

}  // namespace
}  // namespace baton::app
