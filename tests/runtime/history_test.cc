// A node's history: which events it keeps, how readers continue, and which readers hear of new
// events.
#include "runtime/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

Transition Gain(std::uint32_t shard, std::int64_t term) {
  return {.shard = ShardId{shard},
          .reason = Reason::kLeaseExpired,
          .from = "n1",
          .to = "n2",
          .term = Term{term}};
}

class HistoryTest : public testing::Test {
 protected:
  /// Adds events of shards 0, 1, 2, 0, ...; their terms are their numbers.
  void AddMany(int count) {
    for (int i = 0; i < count; ++i, ++added_) {
      history_.Add(Gain(added_ % 3, added_ + 1), Revision{added_ + 1}, {});
    }
  }
  static std::vector<std::uint64_t> Numbers(const HistoryPage& page) {
    std::vector<std::uint64_t> numbers;
    for (const auto& event : page.events) numbers.push_back(event->seq);
    return numbers;
  }

  History history_{"orders", "n2", 5};
  std::uint32_t added_ = 0;
};

TEST_F(HistoryTest, OfNothingIsAnEmptyPage) {
  const HistoryPage page = history_.Read({});
  EXPECT_EQ(page.group, "orders");
  EXPECT_EQ(page.node, "n2");
  EXPECT_EQ(page.first, 1u);
  EXPECT_EQ(page.last, 0u);
  EXPECT_THAT(page.events, IsEmpty());
  EXPECT_LE(page.started, std::chrono::system_clock::now());
}

TEST_F(HistoryTest, KeepsWhatItWasTold) {
  Transition told = Gain(3, 815);
  told.actor = "ann@desk";
  const GapPhases gap{.detect_at_most = {}, .elect = milliseconds(20), .activate = milliseconds(1)};
  const auto before = std::chrono::system_clock::now();
  history_.Add(told, Revision{815}, gap);
  const HistoryPage page = history_.Read({});
  ASSERT_EQ(page.events.size(), 1u);
  const HistoryEvent& event = *page.events[0];
  EXPECT_EQ(event.seq, 1u);
  EXPECT_GE(event.at, before);
  EXPECT_EQ(event.transition.shard, ShardId{3});
  EXPECT_EQ(event.transition.actor, "ann@desk");
  EXPECT_EQ(event.revision, Revision{815});
  EXPECT_EQ(event.gap, gap);
}

// Plan: the sums of a death that a guard saw, of one with a bound, and of one with neither.
TEST(GapPhases, AddUpToWhatIsKnown) {
  const Transition death{
      .shard = ShardId{3}, .reason = Reason::kProcessDied, .from = "n1", .to = "n2"};
  GapPhases gap{.detect_at_most = {},
                .detect = milliseconds(20),
                .elect = milliseconds(5),
                .activate = milliseconds(1)};
  EXPECT_EQ(gap.Measured(), milliseconds(26));
  EXPECT_EQ(GapAtMost(death, gap), milliseconds(26));
  gap.detect_at_most = std::exchange(gap.detect, std::nullopt);
  EXPECT_EQ(gap.Measured(), milliseconds(6));
  EXPECT_EQ(GapAtMost(death, gap), milliseconds(26));
  gap.detect_at_most.reset();
  EXPECT_FALSE(GapAtMost(death, gap));
  EXPECT_TRUE(DetectionUnknown(death, gap));
}

// Plan: eight events with room for five. The first three are gone, and the numbers continue.
TEST_F(HistoryTest, DropsTheOldest) {
  AddMany(8);
  const HistoryPage page = history_.Read({});
  EXPECT_EQ(page.first, 4u);
  EXPECT_EQ(page.last, 8u);
  EXPECT_THAT(Numbers(page), ElementsAre(4, 5, 6, 7, 8));
}

TEST_F(HistoryTest, IsReadOnWhereOneStopped) {
  AddMany(4);
  EXPECT_THAT(Numbers(history_.Read({.after = 2})), ElementsAre(3, 4));
  EXPECT_THAT(Numbers(history_.Read({.after = 0, .limit = 2})), ElementsAre(1, 2));
  EXPECT_THAT(Numbers(history_.Read({.after = 2, .limit = 1})), ElementsAre(3));
  EXPECT_THAT(history_.Read({.after = 4}).events, IsEmpty());
}

// Plan: numbers that this process never used, such as an earlier process's, up to the greatest
// number.
TEST_F(HistoryTest, BeginsAnewAfterNumbersThatItNeverGave) {
  AddMany(4);
  for (const std::uint64_t after : {std::uint64_t{5}, UINT64_MAX}) {
    const HistoryPage page = history_.Read({.after = after, .limit = 3});
    EXPECT_TRUE(page.reset);
    EXPECT_THAT(Numbers(page), ElementsAre(1, 2, 3));
    EXPECT_EQ(page.upto, 3u);
  }
  EXPECT_FALSE(history_.Read({.after = 4}).reset);
  EXPECT_FALSE(history_.Read({}).reset);
}

// Plan: the events after the number are gone. A question without a number misses nothing.
TEST_F(HistoryTest, SaysThatEventsAreGone) {
  AddMany(8);
  EXPECT_TRUE(history_.Read({.after = 2}).reset);
  EXPECT_FALSE(history_.Read({.after = 3}).reset);
  EXPECT_FALSE(history_.Read({}).reset);
}

// Plan: a question about one shard also learns how far the other events are.
TEST_F(HistoryTest, SaysHowFarItWasRead) {
  EXPECT_EQ(history_.Read({}).upto, 0u);
  AddMany(4);
  EXPECT_EQ(history_.Read({.shard = ShardId{999}}).upto, 4u);
  EXPECT_EQ(history_.Read({.limit = 0}).upto, 0u);
  EXPECT_EQ(history_.Read({.after = 1, .limit = 2}).upto, 3u);
}

// Plan: an operator orders something between two transitions.
TEST_F(HistoryTest, KeepsWhatOperatorsOrderedAmongTheTransitions) {
  AddMany(1);
  history_.AddChange("drain n3", "ann@desk", Revision{7});
  AddMany(1);
  const HistoryPage page = history_.Read({});
  ASSERT_EQ(page.events.size(), 3u);
  const HistoryEvent& event = *page.events[1];
  EXPECT_EQ(event.seq, 2u);
  EXPECT_EQ(event.change, "drain n3");
  EXPECT_EQ(event.transition.actor, "ann@desk");
  EXPECT_EQ(event.revision, Revision{7});
  EXPECT_THAT(page.events[0]->change, IsEmpty());
  EXPECT_THAT(Numbers(history_.Read({.shard = ShardId{0}})), ElementsAre(1));
  const std::vector<Transition> recent = history_.Recent(5);
  ASSERT_EQ(recent.size(), 2u);
  EXPECT_EQ(recent[0].term, Term{1});
  EXPECT_EQ(recent[1].term, Term{2});
  EXPECT_EQ(history_.Recent(1).front().term, Term{2});
}

TEST_F(HistoryTest, CanBeReadForOneShard) {
  AddMany(7);  // shards 0 1 2 0 1 2 0, of which the first two are dropped
  EXPECT_THAT(Numbers(history_.Read({.shard = ShardId{0}})), ElementsAre(4, 7));
  EXPECT_THAT(Numbers(history_.Read({.limit = 1, .shard = ShardId{1}})), ElementsAre(5));
  EXPECT_THAT(history_.Read({.shard = ShardId{9}}).events, IsEmpty());
}

// Plan: more events than are read under one lock.
TEST(LongHistory, IsReadInWhole) {
  History history("orders", "n2", 2000);
  for (int i = 1; i <= 3000; ++i) history.Add(Gain(0, i), Revision{i}, {});
  const HistoryPage page = history.Read({});
  ASSERT_EQ(page.events.size(), 2000u);
  EXPECT_EQ(page.events.front()->seq, 1001u);
  EXPECT_EQ(page.events.back()->seq, 3000u);
  EXPECT_EQ(history.Recent(3).back().term, Term{3000});
  EXPECT_EQ(history.Recent(3).size(), 3u);
}

TEST_F(HistoryTest, TellsWhoWaitsOnce) {
  int told = 0;
  history_.Await(0, [&] { ++told; });
  EXPECT_EQ(told, 0);
  AddMany(1);
  EXPECT_EQ(told, 1);
  AddMany(1);
  EXPECT_EQ(told, 1);
  history_.Await(1, [&] { ++told; });
  EXPECT_EQ(told, 2) << "there is more already";
}

TEST_F(HistoryTest, TellsNobodyWhoGaveUp) {
  int told = 0;
  const History::WaitId id = history_.Await(0, [&] { ++told; });
  history_.Cancel(id);
  AddMany(1);
  EXPECT_EQ(told, 0);
  history_.Cancel(id);
}

TEST_F(HistoryTest, TellsEverybodyThatNothingFollows) {
  int told = 0;
  history_.Await(0, [&] { ++told; });
  history_.Close();
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(history_.closed());
  history_.Await(0, [&] { ++told; });
  EXPECT_EQ(told, 2);
}

// Plan: one thread adds as fast as it can, and readers continue from their last page. No page has a
// gap, and each begins after the last one or at the oldest kept event.
TEST(SharedHistory, HasNoHolesForReadersThatFallBehind) {
  History history("orders", "n2", 300);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      std::uint64_t after = 0;
      while (!done || after < history.Read({.after = after}).last) {
        const HistoryPage page = history.Read({.after = after});
        if (page.events.empty()) continue;
        std::uint64_t expected = page.events.front()->seq;
        if (expected != after + 1) {
          EXPECT_EQ(expected, page.first);
        }
        for (const auto& event : page.events) EXPECT_EQ(event->seq, expected++);
        EXPECT_EQ(page.events.back()->seq, page.last);
        after = page.last;
      }
      EXPECT_EQ(after, 20'000u);
    });
  }
  for (int i = 1; i <= 20'000; ++i) history.Add(Gain(0, i), Revision{i}, {});
  done = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace baton::runtime
