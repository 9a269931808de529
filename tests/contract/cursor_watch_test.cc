// The watch cursor on a real etcd: it shows exactly what the store holds, whatever happens
// meanwhile.
#include "etcd/watch_cursor.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "keyspace_fixture.h"

namespace baton::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::Store;

// A loop that runs only while the test waits for something: between waits the cursor lags for as
// long as the test likes. The executor keeps it alive, because the transport still posts a read
// that was in flight when its cursor ended.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  CursorExecutor executor() {
    return {.post =
                [self = shared_from_this()](std::function<void()> run) {
                  const std::lock_guard lock(self->mutex_);
                  self->posted_.push_back(std::move(run));
                  self->changed_.notify_one();
                },
            .schedule =
                [self = shared_from_this()](Duration delay, std::function<void()> run) {
                  const std::lock_guard lock(self->mutex_);
                  self->timers_.emplace(steady_clock::now() + delay, std::move(run));
                }};
  }

  // Runs until `met`; returns false if that takes more than 30 s.
  bool RunUntil(const std::function<bool()>& met) {
    const auto end = steady_clock::now() + std::chrono::seconds(30);
    while (!met()) {
      const auto run = Next(end);
      if (!run) return false;
      run();
    }
    return true;
  }

 private:
  // The next due function; null once `end` has passed.
  std::function<void()> Next(steady_clock::time_point end) {
    std::unique_lock lock(mutex_);
    while (true) {
      if (!posted_.empty()) {
        auto run = std::move(posted_.front());
        posted_.pop_front();
        return run;
      }
      const auto now = steady_clock::now();
      if (!timers_.empty() && timers_.begin()->first <= now) {
        return std::move(timers_.extract(timers_.begin()).mapped());
      }
      if (now >= end) return nullptr;
      changed_.wait_until(lock, timers_.empty() ? end : std::min(end, timers_.begin()->first));
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
  std::multimap<steady_clock::time_point, std::function<void()>> timers_;
};

// A view as the core keeps one: merged by key and revision. Missing keys in snapshots are absences.
struct View {
  std::map<std::uint32_t, RecordFact> records;
  std::map<NodeId, MemberFact> members;
  Revision snapshot;  // the newest one's revision
  Revision changes;   // the last one's revision
  int snapshots = 0;
  std::size_t largest = 0;  // facts in one delivery of changes

  void Merge(const Fact& fact) {
    if (const auto* member = std::get_if<MemberFact>(&fact)) members[member->node] = *member;
    const auto* record = std::get_if<ShardRecordFact>(&fact);
    if (record == nullptr) return;
    RecordFact& known = records[record->shard.value];
    if (record->record.revision > known.revision) known = record->record;
  }

  void Take(const Snapshot& taken) {
    std::set<std::uint32_t> named;
    for (const Fact& fact : taken.facts) {
      if (const auto* record = std::get_if<ShardRecordFact>(&fact)) {
        named.insert(record->shard.value);
      }
      Merge(fact);
    }
    for (auto& [shard, record] : records) {
      if (named.contains(shard) || record.revision >= taken.revision) continue;
      record = RecordFact{};
      record.revision = taken.revision;
    }
    snapshot = taken.revision;
    ++snapshots;
  }

  // The shards that are present, with their revisions.
  std::map<std::uint32_t, std::int64_t> Present() const {
    std::map<std::uint32_t, std::int64_t> present;
    for (const auto& [shard, record] : records) {
      if (record.present) present[shard] = record.revision.value;
    }
    return present;
  }
};

// A cursor with the view that it feeds.
struct Follower {
  Follower(Store& store, const Keyspace& keys, std::int64_t page_limit = 10'000)
      : cursor(store.transport(), keys, loop->executor(), Options(page_limit),
               {.snapshot =
                    [this](const Snapshot& taken, std::uint64_t id) {
                      cluster_ids.insert(id);
                      view.Take(taken);
                    },
                .changes =
                    [this](const Changes& changes, std::uint64_t id) {
                      cluster_ids.insert(id);
                      EXPECT_GT(changes.revision, view.changes) << "went back";
                      for (const Fact& fact : changes.facts) view.Merge(fact);
                      view.changes = changes.revision;
                      view.largest = std::max(view.largest, changes.facts.size());
                    },
                .delivered = [this](Revision revision) { proven = revision; },
                .trouble = {}}) {
    cursor.Start();
  }

  static WatchCursorOptions Options(std::int64_t page_limit) {
    WatchCursorOptions options;
    options.page_limit = page_limit;
    options.open_timeout = milliseconds(2'000);
    return options;
  }

  bool Reaches(Revision revision) {
    return loop->RunUntil([&] { return cursor.applied() >= revision; });
  }

  const std::shared_ptr<Loop> loop = std::make_shared<Loop>();
  View view;
  Revision proven;  // by progress
  std::set<std::uint64_t> cluster_ids;
  WatchCursor cursor;
};

class CursorWatch : public testing::GroupTest {
 protected:
  static std::string SomeRecord(std::uint32_t shard) {
    RecordFact record;
    record.leader = "n1";
    record.session = SessionId{77};
    return EncodeRecord(record, ShardId{shard});
  }

  // Puts `count` records from `first` on, in one revision. REQUIRES: count <= 128.
  Revision PutRecords(std::uint32_t first, std::uint32_t count) {
    etcdserverpb::TxnRequest request;
    for (std::uint32_t shard = first; shard < first + count; ++shard) {
      auto* put = request.add_success()->mutable_request_put();
      put->set_key(keys.ShardKey(ShardId{shard}));
      put->set_value(SomeRecord(shard));
    }
    return store().Txn(request);
  }

  std::map<std::uint32_t, std::int64_t> Stored() {
    std::map<std::uint32_t, std::int64_t> present;
    const etcdserverpb::RangeResponse all = store().Get(keys.begin(), keys.end());
    for (const auto& stored : all.kvs()) {
      const Decoded decoded = keys.Decode(stored);
      const auto& record = std::get<ShardRecordFact>(*decoded.fact);
      present[record.shard.value] = record.record.revision.value;
    }
    return present;
  }
};

TEST_F(CursorWatch, DeliversASnapshotThenEveryChangeWithTheClusterId) {
  const Revision before = PutRecords(0, 3);
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.Reaches(before));
  EXPECT_EQ(follower.view.snapshots, 1);
  const Revision put = PutRecords(3, 1);
  const Revision removed = store().Delete(keys.ShardKey(ShardId{0}));
  ASSERT_TRUE(follower.Reaches(removed));
  EXPECT_EQ(follower.view.Present(), Stored());
  EXPECT_EQ(follower.view.records.at(3).revision, put);
  EXPECT_FALSE(follower.view.records.at(0).present);
  EXPECT_EQ(follower.view.records.at(0).revision, removed);
  EXPECT_EQ(follower.cluster_ids.size(), 1u);
  EXPECT_EQ(*follower.cluster_ids.begin(), store().Get(keys.ConfigKey()).header().cluster_id());
}

// Plan: 10,000 records in pages of 700, rewritten while the pages are read: the snapshot is the
// store at one revision, and the watch delivers everything after it.
TEST_F(CursorWatch, ReadsTenThousandRecordsInPagesWhileTheyChange) {
  constexpr std::uint32_t kRecords = 10'000;
  for (std::uint32_t first = 0; first < kRecords; first += 125) PutRecords(first, 125);
  Follower follower(store(), keys, 700);
  Revision last;
  for (std::uint32_t i = 0; i < 50; ++i) {
    last = PutRecords(i * 200, 100);
    store().Delete(keys.ShardKey(ShardId{i * 200 + 150}));
  }
  ASSERT_TRUE(follower.Reaches(last));
  const Revision end = PutRecords(0, 1);
  ASSERT_TRUE(follower.Reaches(end));
  EXPECT_EQ(follower.view.snapshots, 1);
  EXPECT_EQ(follower.view.Present(), Stored());
}

// A revision's events may come in any order. It is delivered as a whole, never in parts, even if
// the watch is catching up.
TEST_F(CursorWatch, DeliversAGreatRevisionWhole) {
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  const Revision whole = PutRecords(0, 128);
  follower.cursor.Reopen();
  ASSERT_TRUE(follower.Reaches(whole));
  EXPECT_GE(follower.view.largest, 128u);
  EXPECT_EQ(follower.view.Present(), Stored());
}

// gRPC's default limit of 4 MiB would end the watch at the same message each time.
TEST_F(CursorWatch, CatchesUpByMessagesAboveFourMebibytes) {
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  Revision last;
  for (std::uint32_t shard = 0; shard < 24; ++shard) {
    last = store().Put(keys.ShardKey(ShardId{shard}), std::string(400'000, 'x'));
  }
  follower.cursor.Reopen();
  ASSERT_TRUE(follower.Reaches(last));
  EXPECT_EQ(follower.view.Present(), Stored());
  EXPECT_EQ(follower.view.records.at(0).readability, Readability::kDamaged);
}

// Plan: a quiet group in a busy store: progress proves that nothing is missing, and does not move
// the cursor.
TEST_F(CursorWatch, ProvesByProgressWithoutMovingItsPlace) {
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  const Revision place = follower.cursor.applied();
  const Revision elsewhere = store().Put("/elsewhere", "x");
  follower.cursor.RequestProgress(elsewhere);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.proven >= elsewhere; }));
  EXPECT_EQ(follower.cursor.applied(), place);
}

// Plan: a watch is opened again thousands of revisions behind, and asked for its progress all the
// time. What it proves it has delivered.
TEST_F(CursorWatch, ProvesNothingThatItHasNotDelivered) {
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  Revision last;
  for (std::uint32_t i = 0; i < 2200; ++i) last = PutRecords(i % 100, 1);
  follower.cursor.Reopen();
  follower.cursor.RequestProgress(last);
  ASSERT_TRUE(follower.loop->RunUntil([&] {
    EXPECT_LE(follower.proven, follower.cursor.applied());
    return follower.cursor.applied() >= last;
  }));
  EXPECT_EQ(follower.view.Present(), Stored());
}

// Plan: a quiet group in a busy store, and a watch that is opened again 2,000 revisions behind.
// Newer versions of etcd leave progress requests unanswered until such a watch has caught up: the
// cursor asks again, on the same stream.
TEST_F(CursorWatch, IsNotOpenedAgainForAnAnswerThatDoesNotCome) {
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  const Revision place = follower.cursor.applied();
  Revision elsewhere;
  for (int i = 0; i < 2000; ++i) elsewhere = store().Put("/elsewhere", "x");
  follower.cursor.Reopen();
  follower.cursor.RequestProgress(elsewhere);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.proven >= elsewhere; }));
  EXPECT_EQ(follower.cursor.counts().reopened, 1u) << "by this test";
  EXPECT_EQ(follower.cursor.applied(), place);
}

// Plan: the cursor lags while its revision is compacted away and records are deleted. It resyncs,
// and the deletions that no watch can show any more are absences of the snapshot.
TEST_F(CursorWatch, ResyncsAfterACompactionDeletionsIncluded) {
  PutRecords(0, 10);
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  store().Delete(keys.ShardKey(ShardId{4}));
  const Revision last = PutRecords(10, 1);
  store().Compact(last);
  follower.cursor.Reopen();
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.cursor.counts().resyncs == 1; }));
  ASSERT_TRUE(follower.Reaches(last));
  EXPECT_EQ(follower.view.Present(), Stored());
  EXPECT_FALSE(follower.view.records.at(4).present);
  const Revision next = PutRecords(4, 1);
  ASSERT_TRUE(follower.Reaches(next));
  EXPECT_TRUE(follower.view.records.at(4).present);
}

// Plan: random puts and deletions, compactions, reopened watches and audits, with the cursor
// lagging at random. At the end the view equals the store.
TEST_F(CursorWatch, AgreesWithTheStoreAfterRandomWritesAndCompactions) {
  std::mt19937 random(20240607);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  Follower follower(store(), keys, 30);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  for (int round = 0; round < 60; ++round) {
    Revision last;
    for (std::uint32_t i = 0; i < 1 + below(12); ++i) {
      last = below(3) == 0 ? store().Delete(keys.ShardKey(ShardId{below(100)}))
                           : PutRecords(below(95), 1 + below(5));
    }
    if (below(3) == 0) store().Compact(last);
    if (below(3) == 0) follower.cursor.Reopen();
    if (below(5) == 0) follower.cursor.Audit();
    if (below(2) == 0) {
      const Revision written = PutRecords(below(100), 1);
      ASSERT_TRUE(follower.Reaches(written));
      EXPECT_EQ(follower.view.Present(), Stored()) << "round " << round;
    }
  }
  const Revision end = PutRecords(0, 1);
  ASSERT_TRUE(follower.Reaches(end));
  EXPECT_EQ(follower.view.Present(), Stored());
  EXPECT_GT(follower.cursor.counts().resyncs, 0u);
}

// Plan: an audit repairs what a watch lost (here the test changes the view itself).
TEST_F(CursorWatch, RepairsAMissedDeletionByAnAudit) {
  PutRecords(0, 3);
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  RecordFact ghost;
  ghost.present = true;
  ghost.revision = Revision{1};
  follower.view.records[9] = ghost;
  follower.cursor.Audit();
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 2; }));
  EXPECT_EQ(follower.view.Present(), Stored());
}

// Plan: a member's lease ends: the deletion of its key is an event with the revision of the end.
TEST_F(CursorWatch, TellsTheEndOfALease) {
  const auto member = Join("n1");
  Follower follower(store(), keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  EXPECT_TRUE(follower.view.members.at("n1").Live());
  store().Revoke(member.session);
  const Revision end = Now();
  ASSERT_TRUE(follower.Reaches(end));
  EXPECT_FALSE(follower.view.members.at("n1").present);
  EXPECT_EQ(follower.view.members.at("n1").revision, end);
}

// Plan: three members. The one that serves the watch is frozen: its stream is silent, and Reopen
// goes to another one. Then that one is killed: the cursor finds the third by itself.
TEST(CursorFailover, LeavesFrozenAndDeadMembers) {
  Store store({.members = 3});
  const Keyspace keys(kDefaultPrefix, "failover");
  Follower follower(store, keys);
  ASSERT_TRUE(follower.loop->RunUntil([&] { return follower.view.snapshots == 1; }));
  ASSERT_TRUE(follower.Reaches(store.Put(keys.ShardKey(ShardId{1}), "zero")));
  store.etcd().Pause(0);
  // The transport chooses the endpoint: a frozen member costs a few attempts, each bounded.
  const auto put = [&](const std::string& value) {
    etcdserverpb::TxnRequest request;
    auto* operation = request.add_success()->mutable_request_put();
    operation->set_key(keys.ShardKey(ShardId{0}));
    operation->set_value(value);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto reply = testing::Await<Reply<etcdserverpb::TxnResponse>>([&](auto done) {
        store.transport().Txn(std::make_shared<etcdserverpb::TxnRequest>(request),
                              testing::kCallDeadline, done);
      });
      if (reply.status.ok()) return Revision{reply.response.header().revision()};
    }
    ADD_FAILURE() << "no member took the write";
    return Revision{};
  };
  const Revision first = put("one");
  follower.cursor.Reopen();
  ASSERT_TRUE(follower.Reaches(first));
  store.etcd().Resume(0);
  store.etcd().Kill(1);
  const Revision second = put("two");
  ASSERT_TRUE(follower.Reaches(second));
}

}  // namespace
}  // namespace baton::etcd
