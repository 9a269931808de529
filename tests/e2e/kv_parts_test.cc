// The parts that examples/kv relies on: a store that refuses old leaders and recognises retries,
// and a ledger that finds every wrong answer.
#include <chrono>
#include <filesystem>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "ledger.h"
#include "shards.h"

namespace kv {
namespace {

using baton::ShardId;
using baton::Term;

class Store : public ::testing::Test {
 protected:
  Store() {
    std::string folder = (std::filesystem::temp_directory_path() / "baton-kv-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) std::abort();
    folder_ = folder;
  }
  ~Store() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

// Plan: two nodes have the same shard open. After the new one's Raise, the old one's writes and
// reads are refused and have no effect.
TEST_F(Store, RefusesTheOldLeaderOnceTheNewOneHasRaisedItsTerm) {
  ShardStore old_leader(folder_, "kv", ShardId{3});
  ShardStore new_leader(folder_, "kv", ShardId{3});
  old_leader.Raise(Term{10});
  old_leader.Put({Term{10}, "1"}, "key", "old");
  new_leader.Raise(Term{12});
  EXPECT_THROW(old_leader.Put({Term{10}, "2"}, "key", "late"), StaleTerm);
  EXPECT_THROW(old_leader.Increment({Term{10}, "3"}, "count", 1), StaleTerm);
  EXPECT_THROW(old_leader.Get(Term{10}, "key"), StaleTerm);
  EXPECT_EQ(new_leader.Get(Term{12}, "key"), "old");
  EXPECT_EQ(new_leader.Get(Term{12}, "count"), std::nullopt);
}

// Plan: the same request comes again, to another node after a handoff. It gets the answer of the
// first time, and is carried out once.
TEST_F(Store, CarriesARepeatedRequestOutOnce) {
  ShardStore first(folder_, "kv", ShardId{0});
  EXPECT_EQ(first.Increment({Term{5}, "a"}, "count", 2), 2);
  ShardStore second(folder_, "kv", ShardId{0});
  EXPECT_EQ(second.Increment({Term{6}, "b"}, "count", 1), 3);
  EXPECT_EQ(second.Increment({Term{6}, "a"}, "count", 2), 2) << "as it was answered then";
  EXPECT_EQ(second.Get(Term{6}, "count"), "3");
}

// Plan: a shard that moves on before it saw many writes forgets old requests too: at the first
// write after it is opened.
TEST_F(Store, ForgetsOldRequestsHoweverShortlyItIsOpen) {
  ShardStore(folder_, "kv", ShardId{0}).Increment({Term{1}, "old"}, "count", 1);
  Database database(folder_ + "/shard-0.db");
  database.Execute("UPDATE requests SET at = at - 700");
  ShardStore(folder_, "kv", ShardId{0}).Increment({Term{2}, "new"}, "count", 1);
  EXPECT_EQ(Statement(database, "SELECT group_concat(id) FROM requests").Text(), "new");
}

TEST_F(Store, KeepsWhatItCannotAdd) {
  ShardStore store(folder_, "kv", ShardId{0});
  store.Put({Term{1}, ""}, "word", "seven");
  EXPECT_THROW(store.Increment({Term{1}, ""}, "word", 1), BadValue);
  store.Put({Term{1}, ""}, "most", "9223372036854775807");
  EXPECT_THROW(store.Increment({Term{1}, ""}, "most", 1), BadValue);
  EXPECT_EQ(store.Get(Term{1}, "word"), "seven");
  EXPECT_EQ(store.Get(Term{1}, "most"), "9223372036854775807");
}

// Plan: a shard is served from Acquired to Releasing, with the term of that leadership only, and
// again if the handoff is given up.
TEST_F(Store, ServesBetweenAcquiredAndReleasing) {
  Shards shards({.folder = folder_, .group = "kv", .count = 4});
  const auto nothing = [](ShardStore&) {};
  const ShardId shard{1};
  EXPECT_FALSE(shards.Serve(shard, Term{7}, nothing));
  shards.Prepare(shard);
  EXPECT_FALSE(shards.Serve(shard, Term{7}, nothing));
  shards.Acquired(shard, Term{7});
  EXPECT_TRUE(shards.Serve(shard, Term{7}, nothing));
  EXPECT_FALSE(shards.Serve(shard, Term{6}, nothing));
  shards.Releasing(shard, Term{7});
  EXPECT_FALSE(shards.Serve(shard, Term{7}, nothing));
  shards.Acquired(shard, Term{7});
  EXPECT_TRUE(shards.Serve(shard, Term{7}, nothing));
  shards.Lost(shard, Term{7}, baton::Reason::kLeaseExpired);
  EXPECT_FALSE(shards.Serve(shard, Term{7}, nothing));
}

// Plan: a node stands by for a shard before it may say so. It says that it is ready when it may,
// and serves the shard from Acquired on.
TEST_F(Store, IsServedAtOnceByAStandbyThatIsReady) {
  Shards shards({.folder = folder_, .group = "kv", .count = 4});
  std::promise<ShardId> ready;
  shards.Standby(ShardId{2});
  shards.BeginStandbys([&](ShardId shard, bool is_ready) {
    if (is_ready) ready.set_value(shard);
  });
  EXPECT_EQ(ready.get_future().get(), ShardId{2});
  shards.Acquired(ShardId{2}, Term{7});
  EXPECT_TRUE(shards.Serve(ShardId{2}, Term{7}, [](ShardStore&) {}));
}

// Plan: a load takes an hour. A standby that ends before says nothing, and the object ends at once.
TEST_F(Store, IsNotReadyBeforeItsLoadIsOver) {
  bool said = false;
  {
    Shards shards(
        {.folder = folder_, .group = "kv", .count = 4, .load_time = std::chrono::hours(1)});
    shards.BeginStandbys([&](ShardId, bool) { said = true; });
    shards.Standby(ShardId{2});
    shards.StandbyEnded(ShardId{2});
    shards.Standby(ShardId{2});
  }
  EXPECT_FALSE(said);
}

TEST(Ledger, AcceptsACounterThatMissesNothing) {
  Counter counter;
  EXPECT_EQ(counter.Acknowledged(1), "");
  EXPECT_EQ(counter.Acknowledged(2), "");
  EXPECT_EQ(counter.Read(2), "");
}

TEST(Ledger, FindsLostAndDoubledIncrements) {
  Counter counter;
  EXPECT_EQ(counter.Acknowledged(1), "");
  EXPECT_EQ(counter.Acknowledged(3), "increment: got 3, expected 2 to 2") << "doubled";
  EXPECT_EQ(counter.Acknowledged(1), "increment: got 1, expected 2 to 2") << "lost";
  EXPECT_EQ(counter.Read(0), "counter: got 0, expected 1 to 1");
}

// Plan: a failed increment may count, now or later, but only once.
TEST(Ledger, LetsAFailedIncrementCountOnce) {
  Counter counter;
  counter.Failed();
  EXPECT_EQ(counter.Acknowledged(1), "") << "it did not count yet";
  EXPECT_EQ(counter.Acknowledged(3), "") << "now it did";
  EXPECT_EQ(counter.Acknowledged(5), "increment: got 5, expected 4 to 4");
}

TEST(Ledger, FindsARegisterThatWentBack) {
  Register number;
  EXPECT_EQ(number.Read(std::nullopt), "");
  number.Acknowledged(number.Next());
  number.Acknowledged(number.Next());
  EXPECT_EQ(number.Read(2), "");
  EXPECT_EQ(number.Read(1), "register: got 1, expected 2");
  EXPECT_EQ(number.Read(std::nullopt), "register: got 0, expected 2");
  number.Failed(number.Next());
  EXPECT_EQ(number.Read(3), "") << "the failed one may have been carried out";
  EXPECT_EQ(number.Read(2), "");
  EXPECT_EQ(number.Read(4), "register: got 4, expected 2 or one of 1 that failed");
}

}  // namespace
}  // namespace kv
