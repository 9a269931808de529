// Tables and their readers: a writer replaces tables while many threads read those of many
// publishers.
#include "routing/client/route_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "baton/sharding.h"
#include "routing/client/route_store.h"
#include "routing/routes_messages.h"

namespace baton::routing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kShards = 1'000;

// In `term`, each shard has the leader that the term picks, so a mix of two tables would show.
std::shared_ptr<const RouteTable> TableOf(std::int64_t term) {
  static const auto leaders = std::make_shared<const std::vector<Leader>>(
      std::vector<Leader>{{"a", "a:1"}, {"b", "b:1"}, {"c", "c:1"}});
  const RouteEntry entry{term, static_cast<std::uint32_t>(term % 3), ShardState::kLed};
  return std::make_shared<const RouteTable>(KeyMapping{.shards = kShards},
                                            std::vector<RouteEntry>(kShards, entry), leaders);
}

// Plan: tables whose terms lie close together and far apart, with high and low numbers, and all
// states. Each shows the routes that it was made of.
TEST(RouteTable, ShowsWhatItWasMadeOfPackedOrNot) {
  const auto leaders =
      std::make_shared<const std::vector<Leader>>(std::vector<Leader>{{"a", "a:1"}, {"b", "b:1"}});
  const auto check = [&](const std::vector<RouteEntry>& entries, bool packed) {
    const RouteTable table({.shards = static_cast<std::uint32_t>(entries.size())}, entries,
                           leaders);
    EXPECT_EQ(table.packed(), packed);
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
      Route expected{.shard = ShardId{i}};
      if (entries[i].leader != kNobodyLeads) {
        const Leader& leader = (*leaders)[entries[i].leader];
        expected = {ShardId{i}, entries[i].state, Term{entries[i].term}, leader.node,
                    leader.address};
      }
      EXPECT_EQ(table.Find(ShardId{i}), expected);
    }
    EXPECT_EQ(table.Find(ShardId{UINT32_MAX}), Route{.shard = ShardId{UINT32_MAX}});
  };
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  check({}, true);
  check({{}, {}}, true);
  for (const std::int64_t base : {std::int64_t{1}, std::int64_t{5'000}, INT64_MAX - kFar}) {
    check({{base, 0, ShardState::kLed},
           {},
           {base + 7, 1, ShardState::kActivating},
           {base, 1, ShardState::kMoving},
           {base + kFar - 1, 1, ShardState::kSuspended}},
          true);
    check({{base, 0, ShardState::kLed}, {base + kFar, 1, ShardState::kMoving}, {}}, false);
  }
}

// Plan: compares the table's mapping of keys with the public one, for counts around powers of two,
// small and large, and keys of every short length.
TEST(RouteTable, MapsKeysAsShardForDoes) {
  std::vector<std::uint32_t> counts = {1, 3, 7, 1'000, 99'991, 100'000, 1'000'000, UINT32_MAX};
  for (std::uint32_t power = 1; power < 32; ++power) {
    for (const std::uint32_t off : {-1u, 0u, 1u}) counts.push_back((1u << power) + off);
  }
  for (const std::uint32_t shards : counts) {
    const RouteTable table({.shards = shards}, {}, std::make_shared<std::vector<Leader>>());
    ASSERT_TRUE(table.by_murmur2());
    for (std::uint32_t i = 0; i < 2'000; ++i) {
      const std::string key = std::string(i % 23, 'k') + std::to_string(i * 2'654'435'761u);
      ASSERT_EQ(table.ShardByMurmur2(key), ShardFor(key, HashFunction::kMurmur2, shards)) << key;
    }
  }
}

// Plan: numbers next to each multiple of the count, at which an inexact remainder would be wrong.
TEST(Remainder, IsExactNextToEveryMultiple) {
  for (const std::uint32_t count :
       {1u, 2u, 3u, 641u, 65'537u, 1'000'000u, 0x7fffffffu, UINT32_MAX}) {
    const Remainder remainder(count);
    const std::uint64_t step = std::max<std::uint64_t>(1, (UINT32_MAX / count) / 100'000);
    for (std::uint64_t times = 0; times * count <= UINT32_MAX; times += step) {
      for (const std::uint64_t off :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{count} - 1}) {
        const auto number =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(times * count + off, UINT32_MAX));
        ASSERT_EQ(remainder.Of(number), number % count) << number << " by " << count;
      }
    }
  }
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
