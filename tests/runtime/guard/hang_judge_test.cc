// When a guard takes its node for hanging, on times of the test; and the page that tells it.
#include "runtime/guard/hang_judge.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTimeout{4000};

class HangJudgeTest : public ::testing::Test {
 protected:
  // Looks whenever the judge wants to, and each time this much later than that. The node makes a
  // turn every 20 ms until `last_turn`.
  SteadyTime HangsAt(SteadyTime last_turn, SteadyTime give_up,
                     milliseconds late = milliseconds(0)) {
    while (now_ < give_up) {
      const auto verdict = judge_.Look(now_, std::min(now_, last_turn));
      if (verdict.hangs) return now_;
      now_ = verdict.look_at + late;
    }
    return SteadyTime::max();
  }
  SteadyTime At(milliseconds since) const { return begin_ + since; }

  const SteadyTime begin_{seconds(1000)};
  SteadyTime now_ = begin_;
  HangJudge judge_{kTimeout, begin_};
};

// Plan: the node makes its last turn after 10 s. The verdict comes a timeout later, at once.
TEST_F(HangJudgeTest, NoProgressForTheTimeoutIsAHang) {
  EXPECT_EQ(HangsAt(At(seconds(10)), At(seconds(60))), At(seconds(14) + kProgressEvery));
}

// Plan: the node stands still for a moment less than the timeout, and goes on.
TEST_F(HangJudgeTest, AShorterPauseIsNone) {
  now_ = At(seconds(1));
  const auto before = judge_.Look(now_, now_);
  EXPECT_FALSE(before.hangs);
  EXPECT_EQ(HangsAt(At(seconds(1)), At(seconds(5))), SteadyTime::max());
  EXPECT_FALSE(judge_.Look(At(seconds(5)), At(seconds(5))).hangs);
}

// Plan: the machine stands still for ten timeouts, and the guard with it. When it goes on, the node
// has a whole timeout to make a turn.
TEST_F(HangJudgeTest, TimeThatTheMachineLostDoesNotCount) {
  judge_.Look(now_, now_);
  now_ = At(seconds(40));
  EXPECT_FALSE(judge_.Look(now_, begin_).hangs);
  EXPECT_EQ(HangsAt(begin_, At(seconds(60))), At(seconds(44) + kProgressEvery));
}

// Plan: each of the guard's looks comes late, since the machine is overloaded. It decides nothing.
TEST_F(HangJudgeTest, AGuardThatIsLateItselfDecidesNothing) {
  EXPECT_EQ(HangsAt(begin_, At(std::chrono::minutes(10)), kTimeout / 8 + milliseconds(1)),
            SteadyTime::max());
}

// Plan: the node expects no progress, before its begin and after its end; then it begins.
TEST_F(HangJudgeTest, WithoutANodeThereIsNoHang) {
  for (int i = 0; i < 100; ++i) {
    const auto verdict = judge_.Look(now_, std::nullopt);
    EXPECT_FALSE(verdict.hangs);
    now_ = verdict.look_at;
  }
  const SteadyTime begins = now_;
  EXPECT_EQ(HangsAt(begins, At(seconds(200))), begins + kTimeout + kProgressEvery);
}

// Plan: another process reads what this one notes, by the descriptor alone.
TEST(ProgressPageTest, IsSharedByItsDescriptor) {
  auto created = ProgressPage::Create();
  ASSERT_TRUE(created.ok()) << created.error().message;
  ProgressPage& page = *created.value();
  EXPECT_EQ(page.Last(), std::nullopt);
  page.Note(SteadyTime(seconds(7)));
  auto opened = ProgressPage::Open(dup(page.descriptor()));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened.value()->Last(), SteadyTime(seconds(7)));
  page.Clear();
  EXPECT_EQ(opened.value()->Last(), std::nullopt);
}

// Plan: descriptors that are no page: closed, empty, not to be mapped.
TEST(ProgressPageTest, RefusesWhatIsNoPage) {
  EXPECT_FALSE(ProgressPage::Open(-1).ok());
  EXPECT_FALSE(ProgressPage::Open(open("/dev/null", O_RDWR | O_CLOEXEC)).ok());
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_FALSE(ProgressPage::Open(ends[0]).ok());
  close(ends[1]);
  const int other = memfd_create("other", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(other, 1 << 16), 0);
  EXPECT_FALSE(ProgressPage::Open(other).ok());
}

// Plan: the program closes descriptors that it does not know, and opens a file, which gets the
// page's number. The page is not passed on, and the file stays open at the page's end.
TEST(ProgressPageTest, DoesNotTakeAnotherFileForItsOwn) {
  auto created = ProgressPage::Create();
  ASSERT_TRUE(created.ok()) << created.error().message;
  const int number = created.value()->descriptor();
  const int other = memfd_create("other", MFD_CLOEXEC);
  ASSERT_EQ(dup2(other, number), number);
  EXPECT_EQ(created.value()->descriptor(), -1);
  created.value().reset();
  EXPECT_NE(fcntl(number, F_GETFD), -1);
  close(number);
  close(other);
}

}  // namespace
}  // namespace baton::runtime
