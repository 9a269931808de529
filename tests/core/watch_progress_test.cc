// Whether a watch is current: what it must reach, when it stands still, when all is read again.
#include "core/watch_progress.h"

#include <gtest/gtest.h>

#include "core/options.h"

namespace baton::core {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kBegin{std::chrono::hours(1)};
constexpr Duration kInstant = milliseconds(1);

TEST(WatchProgress, IsBehindUntilItReachesWhatIsRequired) {
  WatchProgress watch;
  watch.Reach(Revision{10}, kBegin);
  EXPECT_FALSE(watch.Require(Revision{10}, kBegin));
  EXPECT_FALSE(watch.behind());
  EXPECT_TRUE(watch.Require(Revision{12}, kBegin));
  watch.Reach(Revision{11}, kBegin);
  EXPECT_TRUE(watch.behind());
  watch.Reach(Revision{12}, kBegin);
  EXPECT_FALSE(watch.behind());
}

TEST(WatchProgress, NeverGoesBack) {
  WatchProgress watch;
  watch.Reach(Revision{10}, kBegin);
  watch.Reach(Revision{7}, kBegin);
  EXPECT_EQ(watch.reached(), Revision{10});
  EXPECT_FALSE(watch.Require(Revision{9}, kBegin));
}

// Plan: the watch is behind for exactly the bound. The line names both revisions. The next endpoint
// gets the same time.
TEST(WatchProgress, StandsStillAfterTheBoundAndAgainAfterTheNext) {
  WatchProgress watch;
  watch.Reach(Revision{10}, kBegin);
  EXPECT_EQ(watch.StandsStillAt(), TimePoint::max());
  watch.Require(Revision{15}, kBegin);
  EXPECT_EQ(watch.StandsStillAt(), kBegin + kWatchStandsStill);
  EXPECT_FALSE(watch.StandsStill(kBegin + kWatchStandsStill - kInstant));
  EXPECT_EQ(watch.StandsStill(kBegin + kWatchStandsStill),
            "the watch stands still at revision 10 below 15; opening it on another endpoint");
  EXPECT_FALSE(watch.StandsStill(kBegin + 2 * kWatchStandsStill - kInstant));
  EXPECT_TRUE(watch.StandsStill(kBegin + 2 * kWatchStandsStill));
}

TEST(WatchProgress, AWatchThatIsCurrentNeverStandsStill) {
  WatchProgress watch;
  watch.Require(Revision{15}, kBegin);
  watch.Reach(Revision{15}, kBegin);
  EXPECT_FALSE(watch.StandsStill(kBegin + std::chrono::hours(1)));
}

// Plan: while the watch is behind one revision, a greater one is required. It must reach the
// greater one, and has no more time.
TEST(WatchProgress, ALaterRequirementGivesNoMoreTime) {
  WatchProgress watch;
  watch.Require(Revision{15}, kBegin);
  EXPECT_TRUE(watch.Require(Revision{20}, kBegin + milliseconds(1500)));
  EXPECT_EQ(watch.required(), Revision{20});
  EXPECT_TRUE(watch.StandsStill(kBegin + kWatchStandsStill));
  watch.Reach(Revision{20}, kBegin + kWatchStandsStill);
  EXPECT_FALSE(watch.behind());
}

// Plan: for a minute the watch delivers one revision a second, and the store gets three. Then it
// delivers nothing more.
TEST(WatchProgress, AWatchThatAdvancesIsLeftAloneHoweverLateItIs) {
  WatchProgress watch;
  TimePoint now = kBegin;
  for (int second = 1; second <= 60; ++second) {
    watch.Require(Revision{3 * second}, now);
    now += std::chrono::seconds(1);
    EXPECT_FALSE(watch.StandsStill(now));
    watch.Reach(Revision{second}, now);
  }
  EXPECT_TRUE(watch.behind());
  EXPECT_FALSE(watch.StandsStill(now + kWatchStandsStill - kInstant));
  EXPECT_TRUE(watch.StandsStill(now + kWatchStandsStill));
}

// Plan: no endpoint delivers anything. Three have the usual time, then it doubles up to a bound. It
// is the usual one again for the next watch that stands still after one that advanced.
TEST(WatchProgress, EndpointsThatStandStillInARowGetMoreTime) {
  WatchProgress watch;
  watch.Require(Revision{15}, kBegin);
  TimePoint now = kBegin;
  for (const int bound : {2, 2, 2, 4, 8, 16, 32, 32, 32}) {
    EXPECT_EQ(watch.StandsStillAt() - now, std::chrono::seconds(bound));
    now = watch.StandsStillAt();
    EXPECT_TRUE(watch.StandsStill(now));
  }
  watch.Reach(Revision{12}, now);
  EXPECT_EQ(watch.StandsStillAt(), now + kWatchStandsStill);
}

// Plan: a read is due once its time has passed since the last one. A read that was begun counts,
// even if it never arrives.
TEST(WatchProgress, EverythingIsReadAgainFromTimeToTime) {
  WatchProgress watch;
  watch.NoteRead(kBegin);
  EXPECT_EQ(watch.AuditAt(kAuditEvery), kBegin + kAuditEvery);
  EXPECT_FALSE(watch.AuditDue(kBegin + kAuditEvery - kInstant, kAuditEvery));
  EXPECT_TRUE(watch.AuditDue(kBegin + kAuditEvery, kAuditEvery));
  EXPECT_FALSE(watch.AuditDue(kBegin + kAuditEvery, kAuditEvery));
  EXPECT_TRUE(watch.AuditDue(kBegin + 2 * kAuditEvery, kAuditEvery));
}

// Plan: the owner counts the time from something that happened after the last read, or before it.
TEST(WatchProgress, ReadsAreCountedFromTheLaterOfTwoTimes) {
  WatchProgress watch;
  watch.NoteRead(kBegin);
  EXPECT_EQ(watch.AuditAt(kAuditEvery, kBegin + kInstant), kBegin + kInstant + kAuditEvery);
  EXPECT_FALSE(watch.AuditDue(kBegin + kAuditEvery, kAuditEvery, kBegin + kInstant));
  EXPECT_EQ(watch.AuditAt(kAuditEvery, kBegin - kInstant), kBegin + kAuditEvery);
  EXPECT_TRUE(watch.AuditDue(kBegin + kAuditEvery, kAuditEvery, kBegin - kInstant));
}

}  // namespace
}  // namespace baton::core
