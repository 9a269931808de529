// The log lines of nodes while nothing happens: whole engines on virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/small_group.h"

namespace baton::sim {
namespace {

using QuietGroup = SmallGroup;

// Plan: a group at rest. Each node logs one line an hour, with what it leads, and nothing else: 50
// minutes are silent, and six hours have six lines of each.
TEST_F(QuietGroup, LogsNothingButAHeartbeat) {
  RunFor(std::chrono::minutes(2));
  ASSERT_EQ(group_.Held(), kShards);
  EXPECT_THAT(LoggedIn(std::chrono::minutes(50)), testing::IsEmpty());
  const std::vector<std::string> lines = LoggedIn(std::chrono::hours(6));
  EXPECT_EQ(lines.size(), 6u * kNodes);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, testing::HasSubstr("info  heartbeat group=sim node=n"));
    EXPECT_THAT(line, testing::HasSubstr("session=live led=10 leaderless=0 nodes=3 "
                                         "transitions_counted=10 renewals_confirmed="));
  }
}

}  // namespace
}  // namespace baton::sim
