// The table that Leads() reads: a word for each shard, and one deadline.
#include "runtime/leadership_table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace baton::runtime {
namespace {

class HandClock final : public Clock {
 public:
  TimePoint Now() const override { return TimePoint(Duration(now_.load())); }
  void Set(Duration now) { now_ = now.count(); }

 private:
  std::atomic<Duration::rep> now_{0};
};

constexpr std::chrono::seconds kSecond{1};

// Plan: time alone ends a leadership; no code has to run for it.
TEST(LeadershipTable, LeadsEndsAtTheDeadlineByTheClockAlone) {
  HandClock clock;
  LeadershipTable table(4, clock);
  table.Set(ShardId{2}, Term{7}, false);
  EXPECT_FALSE(table.Get(ShardId{2}).leads) << "no deadline was ever confirmed";
  table.SetDeadline(TimePoint(kSecond));
  EXPECT_TRUE(table.Get(ShardId{2}).leads);
  EXPECT_EQ(table.Get(ShardId{2}).term, Term{7});
  EXPECT_FALSE(table.Get(ShardId{2}).activated);
  clock.Set(kSecond);
  EXPECT_FALSE(table.Get(ShardId{2}).leads);
  EXPECT_EQ(table.Get(ShardId{2}).term, Term{});
}

// Plan: for shards out of range and shards that are not led the answer is no.
TEST(LeadershipTable, AnswersNoForOtherShards) {
  HandClock clock;
  LeadershipTable table(4, clock);
  table.SetDeadline(TimePoint(kSecond));
  table.Set(ShardId{1}, Term{3}, true);
  EXPECT_TRUE(table.Get(ShardId{1}).activated);
  EXPECT_FALSE(table.Get(ShardId{0}).leads);
  EXPECT_FALSE(table.Get(ShardId{4}).leads);
  EXPECT_FALSE(table.Get(ShardId{4'000'000'000}).leads);
}

// Plan: the process forks while it leads. The child has no loop that would ever end the leadership,
// so it must not lead, and neither must its own child.
TEST(LeadershipTable, AForkedChildLeadsNothing) {
  HandClock clock;
  LeadershipTable table(2000, clock);
  table.SetDeadline(TimePoint(kSecond));
  table.Set(ShardId{0}, Term{3}, true);
  table.Set(ShardId{1999}, Term{4}, false);
  const auto leads_here = [&] {
    return table.Get(ShardId{0}).leads || table.Get(ShardId{1999}).leads || table.InTime();
  };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const pid_t grandchild = leads_here() ? -1 : fork();
    if (grandchild == 0) _exit(leads_here() ? 1 : 0);
    int ended = 1;
    if (grandchild > 0) waitpid(grandchild, &ended, 0);
    _exit(ended == 0 ? 0 : 1);
  }
  int ended = 1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0) << "a child leads";
  EXPECT_TRUE(leads_here()) << "the parent leads on";
}

// Plan: a writer gives up a leadership before it sets another deadline. A reader that mixed the old
// word with the new deadline would see the old term as valid.
TEST(LeadershipTable, NeverMixesAnOldLeadershipWithANewDeadline) {
  HandClock clock;
  LeadershipTable table(1, clock);
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> wrong{0};
  std::atomic<std::int64_t> reads{0};
  std::thread reader([&] {
    while (!stop) {
      const Leadership seen = table.Get(ShardId{0});
      // Odd terms are set only while no deadline is valid.
      if (seen.leads && seen.term.value % 2 == 1) ++wrong;
      ++reads;
    }
  });
  for (std::int64_t term = 1; term < 200'000 || reads < 1000; term += 2) {
    table.SetDeadline(TimePoint::min());
    table.Set(ShardId{0}, Term{term}, true);
    table.Set(ShardId{0}, Term{}, false);
    table.SetDeadline(TimePoint(kSecond));
    table.Set(ShardId{0}, Term{term + 1}, true);
    table.Set(ShardId{0}, Term{}, false);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace baton::runtime
