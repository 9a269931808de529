// The watchdog of an application in the node's process, on a clock of the test.
#include "runtime/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "runtime/manual_time.h"

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The test's clock. It calls `meanwhile` once, when somebody next reads the time.
class InterruptedClock final : public Clock {
 public:
  explicit InterruptedClock(const Clock& clock) : clock_(clock) {}
  TimePoint Now() const override {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return clock_.Now();
  }
  mutable std::function<void()> meanwhile;

 private:
  const Clock& clock_;
};

class WatchdogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    table_.Set(ShardId{0}, Term{7}, true);
    table_.SetDeadline(TimePoint::max());
    watchdog_->Begin();
  }
  bool Leads() const { return table_.Get(ShardId{0}).leads; }
  // As Node::Alive does.
  void Sign() {
    if (watchdog_->NoteAlive()) time_.Post([this] { watchdog_->Look(); });
  }

  ManualTime time_;
  LeadershipTable table_{1, time_};
  std::vector<bool> changes_;
  std::shared_ptr<Watchdog> watchdog_ = std::make_shared<Watchdog>(
      seconds(5), time_, time_, table_, [this](bool alive) { changes_.push_back(alive); });
};

// Plan: signs come in time for a while.
TEST_F(WatchdogTest, SignsInTimeChangeNothing) {
  for (int i = 0; i < 10; ++i) {
    time_.Elapse(seconds(4));
    Sign();
  }
  EXPECT_TRUE(Leads());
  EXPECT_THAT(changes_, IsEmpty());
}

// Plan: no sign comes, not even a first one. Leads() is false, and the node hears of it, both at
// the bound; then the next sign comes.
TEST_F(WatchdogTest, SilenceEndsEverythingUntilTheNextSign) {
  time_.Elapse(seconds(5) - milliseconds(1));
  EXPECT_TRUE(Leads());
  EXPECT_THAT(changes_, IsEmpty());
  time_.Elapse(milliseconds(1));
  EXPECT_FALSE(Leads());
  EXPECT_THAT(changes_, ElementsAre(false));
  time_.Elapse(seconds(60));
  Sign();
  time_.Elapse(Duration{0});
  EXPECT_THAT(changes_, ElementsAre(false, true));
  time_.Elapse(seconds(5));
  EXPECT_THAT(changes_, ElementsAre(false, true, false));
}

// Plan: a node becomes ready in the very moment in which it begins to drain. The program may call
// Alive no more from now on.
TEST_F(WatchdogTest, DoesNotBeginAfterItsEnd) {
  LeadershipTable table(1, time_);
  const auto watchdog =
      std::make_shared<Watchdog>(seconds(5), time_, time_, table, [](bool) { FAIL(); });
  watchdog->End();
  watchdog->Begin();
  EXPECT_EQ(table.AliveUntil(), TimePoint::max());
}

// Plan: the loop stands still while no sign comes. Leads() follows the clock alone.
TEST_F(WatchdogTest, LeadsIsFalseBeforeTheLoopNotices) {
  LeadershipTable table(1, time_);
  table.Set(ShardId{0}, Term{7}, true);
  table.SetDeadline(TimePoint::max());
  table.SetAliveUntil(time_.Now() + seconds(5));
  time_.Elapse(seconds(5));
  EXPECT_FALSE(table.Get(ShardId{0}).leads);
  EXPECT_FALSE(table.InTime());
}

// Plan: the loop looks while a sign comes, in both orders; one timer is left in the end.
TEST_F(WatchdogTest, EachLookWaitsForOneTimer) {
  for (int i = 0; i < 100; ++i) {
    Sign();
    watchdog_->Look();
  }
  time_.Elapse(seconds(5));
  EXPECT_THAT(changes_, ElementsAre(false));
  Sign();
  Sign();
  time_.Elapse(seconds(4));
  EXPECT_THAT(changes_, ElementsAre(false, true));
}

// Plan: a sign comes in time, in the middle of a call of Look. Its caller has nothing to post.
TEST_F(WatchdogTest, ASignInTimeNeedsNoOtherLook) {
  const InterruptedClock clock(time_);
  const auto watchdog = std::make_shared<Watchdog>(seconds(5), clock, time_, table_,
                                                   [](bool) { FAIL() << "nothing is to change"; });
  watchdog->Begin();
  time_.Elapse(seconds(4));
  bool posts = true;
  clock.meanwhile = [&] { posts = watchdog->NoteAlive(); };
  watchdog->Look();
  EXPECT_FALSE(posts);
}

// Plan: the time is over. The next sign comes in the middle of the call of Look that finds this.
TEST_F(WatchdogTest, ALookSeesTheSignThatPostsNone) {
  const InterruptedClock clock(time_);
  LeadershipTable table(1, time_);
  std::vector<bool> changes;
  const auto watchdog = std::make_shared<Watchdog>(seconds(5), clock, time_, table,
                                                   [&](bool alive) { changes.push_back(alive); });
  watchdog->Begin();
  bool posts = true;
  clock.meanwhile = [&] { posts = watchdog->NoteAlive(); };
  time_.Elapse(seconds(5));
  EXPECT_FALSE(posts);
  EXPECT_THAT(changes, IsEmpty());
  time_.Elapse(seconds(5));
  EXPECT_THAT(changes, ElementsAre(false));
}

// Plan: the node isn't ready yet, because it waits for its old lease. The program, which waits for
// the node, gives no sign.
TEST_F(WatchdogTest, ExpectsNothingBeforeItsBegin) {
  LeadershipTable table(1, time_);
  table.SetDeadline(TimePoint::max());
  const auto waiting = std::make_shared<Watchdog>(seconds(5), time_, time_, table,
                                                  [](bool) { FAIL() << "nothing is to change"; });
  EXPECT_FALSE(waiting->NoteAlive());
  time_.Elapse(seconds(60));
  EXPECT_TRUE(table.InTime());
}

// Plan: the node drains, and the program waits for that.
TEST_F(WatchdogTest, ExpectsNothingAfterItsEnd) {
  watchdog_->End();
  Sign();
  time_.Elapse(seconds(60));
  EXPECT_TRUE(Leads());
  EXPECT_THAT(changes_, IsEmpty());
}

// Plan: two threads give signs, and the earlier one is late to store it.
TEST_F(WatchdogTest, AnEarlierSignTakesNothingBack) {
  table_.ProlongAliveUntil(time_.Now() + seconds(9));
  table_.ProlongAliveUntil(time_.Now() + seconds(3));
  EXPECT_EQ(table_.AliveUntil(), time_.Now() + seconds(9));
}

// Plan: the watchdog is gone when its timer fires.
TEST_F(WatchdogTest, MayEndBeforeItsTimer) {
  watchdog_.reset();
  time_.Elapse(seconds(60));
  EXPECT_THAT(changes_, IsEmpty());
}

}  // namespace
}  // namespace baton::runtime
