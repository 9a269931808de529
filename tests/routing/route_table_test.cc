// Tables and their readers: a writer replaces tables while many threads read those of many
// publishers.
#include "routing/client/route_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "routing/client/route_store.h"
#include "routing/routes_messages.h"

namespace baton::routing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kShards = 1'000;

// In `term`, each shard has the leader that the term picks, so a mix of two tables would show.
std::shared_ptr<const RouteTable> TableOf(std::int64_t term) {
  static const auto leaders = std::make_shared<const std::vector<NodeEntry>>(
      std::vector<NodeEntry>{{"a", "a:1"}, {"b", "b:1"}, {"c", "c:1"}});
  const RouteEntry entry{term, static_cast<std::uint32_t>(term % 3), ShardState::kLed};
  return std::make_shared<const RouteTable>(KeyMapping{.shards = kShards},
                                            std::vector<RouteEntry>(kShards, entry), leaders);
}

TEST(RouteTable, ShowsWhatItWasMadeOf) {
  const auto leaders = std::make_shared<const std::vector<NodeEntry>>(
      std::vector<NodeEntry>{{"a", "a:1"}, {"b", "b:1"}});
  const RouteTable table({.shards = 3}, {{7, 1, ShardState::kMoving}, {}, {9, 0, ShardState::kLed}},
                         leaders);
  EXPECT_EQ(table.Find(ShardId{0}), (Route{ShardId{0}, ShardState::kMoving, Term{7}, "b", "b:1"}));
  EXPECT_EQ(table.Find(ShardId{1}), Route{.shard = ShardId{1}});
  EXPECT_EQ(table.Find(ShardId{2}), (Route{ShardId{2}, ShardState::kLed, Term{9}, "a", "a:1"}));
  EXPECT_EQ(table.Find(ShardId{3}), Route{.shard = ShardId{3}});
}

TEST(RouteTable, ShowsTheStandbysOfEachShard) {
  const auto nodes = std::make_shared<const std::vector<NodeEntry>>(
      std::vector<NodeEntry>{{"a", "a:1"}, {"b", ""}});
  const auto standbys = std::make_shared<const StandbyLists>(
      StandbyLists{.begins = {0, 0, 2, 3}, .entries = {{1, false}, {0, true}, {1, true}}});
  const RouteTable table({.shards = 3}, std::vector<RouteEntry>(3), nodes, standbys);
  const RouteStandby a{"a", "a:1", true};
  EXPECT_EQ(table.StandbysOf(ShardId{0}), std::vector<RouteStandby>());
  EXPECT_EQ(table.StandbysOf(ShardId{1}), (std::vector<RouteStandby>{{"b", "", false}, a}));
  EXPECT_EQ(table.StandbysOf(ShardId{2}), (std::vector<RouteStandby>{{"b", "", true}}));
  EXPECT_EQ(table.StandbysOf(ShardId{3}), std::vector<RouteStandby>());
  const RouteTable without({.shards = 3}, std::vector<RouteEntry>(3), nodes);
  EXPECT_EQ(without.StandbysOf(ShardId{1}), std::vector<RouteStandby>());
}

TEST(TablePublisher, HasNothingBeforeTheFirstTableAndTheNewestAfterEach) {
  TablePublisher publisher;
  EXPECT_EQ(publisher.Read(), nullptr);
  for (std::int64_t term = 1; term < 5; ++term) {
    publisher.Publish(TableOf(term));
    EXPECT_EQ(publisher.Read()->Find(ShardId{7}).term, Term{term});
  }
  EXPECT_EQ(publisher.Read()->Find(ShardId{kShards}), Route{.shard = ShardId{kShards}});
}

TEST(TablePublisher, KeepsManyApartOnOneThread) {
  std::vector<std::unique_ptr<TablePublisher>> publishers;
  for (std::int64_t i = 0; i < 40; ++i) {
    publishers.push_back(std::make_unique<TablePublisher>());
    publishers.back()->Publish(TableOf(100 + i));
  }
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(publishers[i]->Read()->Find(ShardId{1}).term, Term{100 + i});
    }
  }
  publishers.erase(publishers.begin(), publishers.begin() + 20);
  TablePublisher late;
  EXPECT_EQ(late.Read(), nullptr);
  EXPECT_EQ(publishers[0]->Read()->Find(ShardId{1}).term, Term{120});
}

// Plan: a table stays as long as a thread may read it, and is released with its publisher.
TEST(TablePublisher, LetsTablesGo) {
  auto publisher = std::make_unique<TablePublisher>();
  auto table = TableOf(1);
  const std::weak_ptr<const RouteTable> first = table;
  publisher->Publish(std::move(table));
  publisher->Read();
  publisher->Publish(TableOf(2));
  EXPECT_FALSE(first.expired()) << "this thread may still hold what it read";
  publisher->Read();
  EXPECT_TRUE(first.expired());
  table = TableOf(3);
  const std::weak_ptr<const RouteTable> last = table;
  publisher->Publish(std::move(table));
  publisher->Read();
  publisher.reset();
  EXPECT_TRUE(last.expired());
}

// Plan: four threads read while a writer publishes; some threads end and others begin. Each reader
// sees whole tables, and never an older one after a newer one.
TEST(TablePublisher, ShowsEachReaderWholeTablesThatNeverGetOlder) {
  TablePublisher publisher;
  publisher.Publish(TableOf(1));
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> reads{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&] {
      while (!over.load()) {
        std::thread([&] {
          std::int64_t last = 0;
          for (std::uint32_t i = 0; i < 2'000; ++i) {
            const Route route = publisher.Read()->Find(ShardId{i % kShards});
            ASSERT_GE(route.term.value, last);
            ASSERT_EQ(route.leader[0], "abc"[route.term.value % 3]);
            last = route.term.value;
          }
          reads.fetch_add(2'000);
        }).join();
      }
    });
  }
  std::int64_t term = 1;
  while (reads.load() < 200'000) publisher.Publish(TableOf(++term));
  over.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(publisher.Read()->Find(ShardId{0}).term, Term{term});
}

// Plan: time is an argument. Many changes in a short time make one table per 10 ms, and the last
// has the final state.
TEST(RouteStore, PublishesAtMostAHundredTablesASecondAndTheLastStateInTheEnd) {
  RouteStore store("orders");
  const TimePoint start{};
  EXPECT_EQ(store.table(), nullptr);
  store.BeginStream();
  ASSERT_TRUE(store.Merge(First({.ends = false}, 0, {{0, "a", 10, 10}}), start).ok());
  EXPECT_EQ(store.table(), nullptr) << "the snapshot goes on";
  ASSERT_TRUE(store.Merge(First({}, 10), start).ok());
  ASSERT_NE(store.table(), nullptr);
  EXPECT_EQ(store.table()->Find(ShardId{0}).term, Term{10});
  EXPECT_EQ(store.next_publish(), std::nullopt);
  ASSERT_TRUE(store.Merge(Delta(11, {{0, "b", 11, 11}}), start + milliseconds(3)).ok());
  ASSERT_TRUE(store.Merge(Delta(12, {{0, "c", 12, 12}}), start + milliseconds(6)).ok());
  EXPECT_EQ(store.table()->Find(ShardId{0}).term, Term{10});
  EXPECT_EQ(store.Find(ShardId{0}).route.term, Term{12});
  ASSERT_EQ(store.next_publish(), start + milliseconds(10));
  store.PublishDue(start + milliseconds(9));
  EXPECT_EQ(store.table()->Find(ShardId{0}).term, Term{10});
  store.PublishDue(start + milliseconds(10));
  EXPECT_EQ(store.table()->Find(ShardId{0}).leader, "c");
  EXPECT_EQ(store.next_publish(), std::nullopt);
}

// Plan: only the standbys of a shard change. The next table has them; who waits for another route
// of the shard waits on.
TEST(RouteStore, PublishesStandbysAndWakesNobody) {
  RouteStore store("orders");
  const TimePoint start = BootClock::now();
  store.BeginStream();
  RouteOf route{.shard = 0, .leader = "a", .term = 10, .revision = 10};
  ASSERT_TRUE(store.Merge(First({}, 10, {route}), start).ok());
  const auto before = store.Find(ShardId{0});
  route.revision = 11;
  route.standbys = {{"b", true}};
  ASSERT_TRUE(store.Merge(Delta(11, {route}), start + milliseconds(3)).ok());
  EXPECT_EQ(store.Find(ShardId{0}).changes, before.changes);
  EXPECT_FALSE(store.Await(ShardId{0}, before.changes, BootClock::now() - seconds(1)));
  EXPECT_TRUE(store.table()->StandbysOf(ShardId{0}).empty());
  store.PublishDue(start + milliseconds(10));
  EXPECT_EQ(store.table()->StandbysOf(ShardId{0}), (std::vector<RouteStandby>{{"b", "b:1", true}}));
}

// Plan: one thread waits for shard 1, which changes after shard 0. Another waits for a shard that
// never changes, until the store is closed.
TEST(RouteStore, WakesWhoWaitsForAShardByItsOwnChange) {
  RouteStore store("orders");
  store.BeginStream();
  ASSERT_TRUE(store.Merge(First({}, 10, {{1, "a", 10, 10}}), BootClock::now()).ok());
  const auto before = store.Find(ShardId{1});
  std::thread waits([&] {
    EXPECT_TRUE(store.Await(ShardId{1}, before.changes, BootClock::now() + seconds(60)));
    EXPECT_EQ(store.Find(ShardId{1}).route.leader, "b");
  });
  std::thread never([&] {
    EXPECT_FALSE(
        store.Await(ShardId{3}, store.Find(ShardId{3}).changes, BootClock::now() + seconds(60)));
  });
  ASSERT_TRUE(store.Merge(Delta(11, {{0, "b", 11, 11}}), BootClock::now()).ok());
  ASSERT_TRUE(store.Merge(Delta(12, {{1, "b", 12, 12}}), BootClock::now()).ok());
  waits.join();
  store.Close();
  never.join();
  EXPECT_FALSE(store.Await(ShardId{3}, 0, BootClock::now() + seconds(60))) << "closed for good";
  EXPECT_FALSE(store.Await(ShardId{3}, 0, BootClock::now() - seconds(1)));
}

}  // namespace
}  // namespace baton::routing
