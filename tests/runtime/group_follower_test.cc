// The follower with a plain view for its owner, and a transport whose answers the test writes: as
// of when the view is proven, what observers get, and what a quiet log says.
#include "runtime/group_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/watch_progress.h"
#include "etcd/fake_transport.h"
#include "etcd/records.h"
#include "runtime/manual_time.h"
#include "runtime/node_status.h"

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Error kEnded{ErrorCode::kUnavailable, "ended"};
const Error kWhy{ErrorCode::kFailedPrecondition, "why"};

class Routes : public RouteObserver {
 public:
  void OnRoutes(const RouteBatch& batch) override { batches.push_back(batch); }
  void OnRoutesEnded(const Error& why) override { ended.push_back(why); }

  std::vector<RouteBatch> batches;
  std::vector<Error> ended;
};

class Halts : public Observer {
 public:
  void OnHalted(const Error& why) override { halts.push_back(why.message); }
  std::vector<std::string> halts;
};

class GroupFollowerTest : public ::testing::Test, private GroupFollower::Owner {
 protected:
  void OnSnapshot(Snapshot snapshot, std::uint64_t) override {
    watch_.Reach(snapshot.revision, time_.Now());
    if (view_) Merge(snapshot);
  }
  void OnChanges(Changes changes, std::uint64_t) override {
    watch_.Reach(changes.revision, time_.Now());
  }
  void OnReached(Revision revision) override {
    watch_.Reach(revision, time_.Now());
    follower_.Followed({}, watch_.reached());
  }
  void OnProven(TimePoint at) override { proven_.push_back(at); }
  const core::View* FollowedView() const override { return view_ ? &*view_ : nullptr; }
  HashFunction Hash() const override { return HashFunction::kMurmur2; }
  Revision ConfigIncarnation() const override { return Revision{2}; }
  ShardStatus ShardNow(ShardId shard) const override { return ShardOf(*view_, shard, TimePoint{}); }
  Duration StaleAfter() const override { return seconds(10); }
  bool Live() const override { return live_; }
  NodeStatus MakeStatus(TimePoint, StatusBoard&) const override {
    ++made_;
    time_.Spend(cost_);
    NodeStatus status;
    status.not_ready = not_ready_;
    return status;
  }

  void Merge(const Snapshot& snapshot) {
    view_->Merge(snapshot, time_.Now());
    follower_.Followed(view_->TakeChanges(), watch_.reached());
  }
  void Read(std::int64_t revision) {
    view_.emplace(4, NodeId());
    watch_.Reach(Revision{revision}, time_.Now());
    Merge(Snapshot{.revision = Revision{revision}});
    proven_.clear();
    time_.Elapse(seconds(1));
  }

  // The follower starts and reads everything; the answer comes after `takes`.
  void ReadByWatch(std::int64_t revision, Duration takes) {
    follower_.Start();
    time_.Elapse(takes);
    etcdserverpb::RangeResponse page;
    page.mutable_header()->set_revision(revision);
    transport_.TakeRange().Answer(std::move(page));
    time_.Elapse(Duration{0});
  }

  // The watch reports a key's new value.
  void Tell(std::int64_t revision, const std::string& key, std::string value) {
    etcdserverpb::WatchResponse response;
    response.mutable_header()->set_revision(revision);
    auto& stored = *response.add_events()->mutable_kv();
    stored.set_key(key);
    stored.set_value(std::move(value));
    stored.set_mod_revision(revision);
    transport_.watches.back()->handler.response(std::move(response));
    time_.Elapse(Duration{0});
  }

  const etcd::Keyspace keys_{"/baton/v1", "orders"};
  etcd::testing::FakeTransport transport_;
  mutable ManualTime time_;
  std::optional<core::View> view_;
  core::WatchProgress watch_;
  std::vector<TimePoint> proven_;
  std::string not_ready_;
  bool live_ = true;
  mutable int made_ = 0;  ///< how many statuses
  Duration cost_{0};      ///< of the next status
  GroupFollower follower_{{.group = "orders",
                           .name = "n1",
                           .keyspace = keys_,
                           .transport = transport_,
                           .clock = time_,
                           .executor = time_,
                           .random = [] { return 0; }},
                          *this};
};

// Plan: the store had 15 when it was asked; the view was current then, once the watch has 15.
TEST_F(GroupFollowerTest, TheViewIsProvenAsOfTheTimeOfTheQuestion) {
  Read(10);
  const TimePoint asked = time_.Now();
  time_.Elapse(milliseconds(300));
  follower_.Prove(Revision{15}, asked);
  OnReached(Revision{14});
  EXPECT_TRUE(follower_.proving());
  EXPECT_THAT(proven_, IsEmpty());
  OnReached(Revision{15});
  EXPECT_FALSE(follower_.proving());
  EXPECT_THAT(proven_, ElementsAre(asked));
  EXPECT_EQ(follower_.Status()->view_age, milliseconds(300));
}

// Plan: the watch is always a little late: each time it reaches a revision, a later one was shown
// already. The view is proven all the same.
TEST_F(GroupFollowerTest, AWatchThatLagsProvesTheViewToo) {
  Read(10);
  const TimePoint first = time_.Now();
  follower_.Prove(Revision{15}, first);
  follower_.Prove(Revision{20}, first + seconds(1));
  OnReached(Revision{15});
  EXPECT_THAT(proven_, ElementsAre(first));
}

// Plan: everything is read, and the answer takes a second: it shows the store as of the question.
TEST_F(GroupFollowerTest, AReadProvesTheViewAsOfItsBegin) {
  Read(10);
  const TimePoint asked = time_.Now();
  ReadByWatch(20, seconds(1));
  EXPECT_THAT(proven_, ElementsAre(asked));
  EXPECT_EQ(follower_.Status()->view_age, seconds(1));
}

TEST_F(GroupFollowerTest, AnOlderProofDoesNotMakeTheViewOlder) {
  Read(10);
  const TimePoint asked = time_.Now();
  time_.Elapse(seconds(1));
  const TimePoint read = time_.Now();
  ReadByWatch(20, seconds(1));
  follower_.Prove(Revision{10}, asked);
  OnReached(Revision{20});
  EXPECT_THAT(proven_, ElementsAre(read));
}

TEST_F(GroupFollowerTest, AnObserverOfRoutesWaitsForTheView) {
  const auto routes = std::make_shared<Routes>();
  follower_.AddRouteObserver(routes);
  time_.Elapse(seconds(1));
  EXPECT_THAT(routes->batches, IsEmpty());
  Read(10);
  ASSERT_EQ(routes->batches.size(), 1u);
  EXPECT_EQ(routes->batches[0].routes.size(), 4u);
  EXPECT_EQ(routes->batches[0].group->server, "n1");
}

// Plan: one observer waits for a view, and one comes after the end. The
// follower tells each of them once, even though it is closed after it has halted.
TEST_F(GroupFollowerTest, EveryObserverLearnsOfTheEndOnce) {
  const auto waiting = std::make_shared<Routes>();
  const auto late = std::make_shared<Routes>();
  const auto before = std::make_shared<Halts>();
  const auto after = std::make_shared<Halts>();
  follower_.AddRouteObserver(waiting);
  follower_.AddObserver(before);
  follower_.Halt(kWhy, kEnded);
  follower_.Halt(kWhy, kEnded);
  follower_.AddObserver(after);
  follower_.AddRouteObserver(late);
  follower_.Close(kWhy);
  for (const auto& routes : {waiting, late}) {
    ASSERT_EQ(routes->ended.size(), 1u);
    EXPECT_EQ(routes->ended[0].message, "ended");
  }
  EXPECT_THAT(before->halts, ElementsAre("why"));
  EXPECT_THAT(after->halts, ElementsAre("why"));
  EXPECT_EQ(follower_.Status()->halted->message, "why");
}

// Plan: while etcd is away, the watch and the renewals fail in turn. Each trouble is new once, and
// again after a minute without it.
TEST_F(GroupFollowerTest, TroublesThatAlternateAreNewOnce) {
  EXPECT_TRUE(follower_.IsNewTrouble("watching failed"));
  EXPECT_TRUE(follower_.IsNewTrouble("renewing failed"));
  for (int again = 0; again < 100; ++again) {
    time_.Elapse(seconds(2));
    EXPECT_FALSE(follower_.IsNewTrouble("watching failed"));
    EXPECT_FALSE(follower_.IsNewTrouble("renewing failed"));
  }
  time_.Elapse(GroupFollower::kTroubleIsOver + seconds(1));
  EXPECT_TRUE(follower_.IsNewTrouble("watching failed"));
}

TEST_F(GroupFollowerTest, AStatusIsSharedFor50Milliseconds) {
  Read(10);
  const auto first = follower_.Status();
  EXPECT_TRUE(first->ready);
  not_ready_ = "why";
  time_.Elapse(milliseconds(49));
  EXPECT_EQ(follower_.Status(), first);
  time_.Elapse(milliseconds(1));
  EXPECT_FALSE(follower_.Status()->ready);
  not_ready_ = "";
  follower_.ForgetStatus();
  EXPECT_TRUE(follower_.Status()->ready);
}

// Plan: 500 questions stand in the loop's queue. The status costs more than the 50 ms for which a
// cheap one is shared.
TEST_F(GroupFollowerTest, QueuedQuestionsShareOneStatus) {
  Read(10);
  cost_ = milliseconds(60);
  int answered = 0;
  for (int i = 0; i < 500; ++i) {
    time_.Post([&] { answered += follower_.Status() != nullptr ? 1 : 0; });
  }
  time_.Elapse(seconds(1));
  EXPECT_EQ(answered, 500);
  EXPECT_EQ(made_, 1);
}

// Plan: a status costs 100 ms, and the next one 10 ms.
TEST_F(GroupFollowerTest, StatusesTakeATwentiethOfTheLoopsTime) {
  Read(10);
  cost_ = milliseconds(100);
  const auto first = follower_.Status();
  time_.Elapse(milliseconds(1999));
  EXPECT_EQ(follower_.Status(), first);
  time_.Elapse(milliseconds(1));
  cost_ = milliseconds(10);
  const auto second = follower_.Status();
  EXPECT_NE(second, first);
  time_.Elapse(milliseconds(199));
  EXPECT_EQ(follower_.Status(), second);
  time_.Elapse(milliseconds(1));
  EXPECT_NE(follower_.Status(), second);
}

// Plan: the process is stopped for an hour while it makes a status, and the next one is made as
// soon as after any other that costs very much. After a halt, nobody waits to see it.
TEST_F(GroupFollowerTest, NoStatusIsSharedForLong) {
  Read(10);
  cost_ = std::chrono::hours(1);
  const auto first = follower_.Status();
  cost_ = milliseconds(1);
  time_.Elapse(GroupFollower::kLongestStatusAge - milliseconds(1));
  EXPECT_EQ(follower_.Status(), first);
  time_.Elapse(milliseconds(1));
  EXPECT_NE(follower_.Status(), first);
  follower_.Halt(kWhy, kEnded);
  EXPECT_TRUE(follower_.Status()->halted.has_value());
}

// Plan: the first status takes so long that it is shared for seconds. Just after it the view
// becomes complete, and the next status shows that.
TEST_F(GroupFollowerTest, AStatusOfAnIncompleteViewIsNotSharedOnceItIsComplete) {
  view_.emplace(4, NodeId());
  cost_ = milliseconds(300);
  follower_.Status();
  follower_.Status();
  EXPECT_EQ(made_, 1);
  Merge(Snapshot{.revision = Revision{10}});
  EXPECT_GT(follower_.Status()->view_age.count(), 0);
  EXPECT_EQ(made_, 2);
  follower_.Status();
  EXPECT_EQ(made_, 2);
}

// Plan: statuses cost so much that each is shared for seconds. The session is suspended, and then
// resumed; the next status after each shows it.
TEST_F(GroupFollowerTest, AStatusIsNotSharedOnceTheSessionIsSuspended) {
  Read(10);
  cost_ = milliseconds(300);
  EXPECT_EQ(follower_.Status(), follower_.Status());
  live_ = false;
  not_ready_ = "suspended";
  EXPECT_FALSE(follower_.Status()->ready);
  EXPECT_EQ(follower_.Status(), follower_.Status());
  live_ = true;
  not_ready_ = "";
  EXPECT_TRUE(follower_.Status()->ready);
  EXPECT_EQ(made_, 3);
}

// Plan: as above. A member joins, which is no reason for a new status. An operator of another node
// changes the settings, and then pauses balance.
TEST_F(GroupFollowerTest, AStatusIsNotSharedOnceSettingsOrPoliciesChange) {
  ReadByWatch(10, milliseconds(1));
  cost_ = milliseconds(300);
  const auto first = follower_.Status();
  time_.Elapse(cost_);
  Tell(11, keys_.MemberKey("n2"), "");
  EXPECT_EQ(follower_.Status(), first);
  Tell(12, keys_.ConfigKey(), etcd::EncodeConfig({.present = true, .shards = 4}));
  const auto second = follower_.Status();
  EXPECT_NE(second, first);
  time_.Elapse(cost_);
  Tell(13, keys_.PolicyKey({PolicyKind::kPause, {}}), "");
  EXPECT_NE(follower_.Status(), second);
}

// Plan: one writes a policy's key all the time, and one asks for statuses. Each is shared for as
// long as it took to make, or 50 ms, and then forgotten without another change. What this node
// itself has written is seen at once.
TEST_F(GroupFollowerTest, PoliciesThatKeepChangingTakeHalfOfTheLoopsTime) {
  ReadByWatch(10, milliseconds(1));
  const std::string key = keys_.PolicyKey({PolicyKind::kPause, {}});
  std::int64_t revision = 10;
  for (const auto& [cost, shared] : {std::pair(milliseconds(300), milliseconds(300)),
                                     std::pair(milliseconds(10), milliseconds(50))}) {
    cost_ = cost;
    follower_.ForgetStatus();
    const auto status = follower_.Status();
    for (int i = 0; i < 9; ++i) {
      Tell(++revision, key, "");
      time_.Elapse(shared / 10);
      EXPECT_EQ(follower_.Status(), status);
    }
    time_.Elapse(shared / 10);
    const auto second = follower_.Status();
    EXPECT_NE(second, status);
    follower_.ForgetStatus();
    EXPECT_NE(follower_.Status(), second);
  }
}

// Plan: a plan of moves asks for a new status, and gets one. Questions for more plans follow as
// fast as they can: with the others they get a twentieth of the loop's time.
TEST_F(GroupFollowerTest, RefreshedStatusesTakeNoMoreOfTheLoopsTime) {
  Read(10);
  cost_ = milliseconds(100);
  const auto shared = follower_.Status();
  follower_.RefreshStatus();
  EXPECT_NE(follower_.Status(), shared);
  const TimePoint start = time_.Now();
  made_ = 0;
  while (time_.Now() < start + seconds(60)) {
    follower_.Status();
    follower_.RefreshStatus();
    time_.Elapse(milliseconds(10));
  }
  EXPECT_GT(made_, 0);
  EXPECT_LE(made_ * cost_, seconds(60) / GroupFollower::kStatusPause);
}

// Plan: the watch's revision was compacted, so everything is read again. Then the follower is
// closed, as in a node that stops. Its counters don't begin again.
TEST_F(GroupFollowerTest, CountersOutliveTheWatch) {
  ReadByWatch(10, milliseconds(1));
  etcdserverpb::WatchResponse compacted;
  compacted.mutable_header()->set_revision(50);
  compacted.set_canceled(true);
  compacted.set_compact_revision(40);
  transport_.watches.back()->handler.response(std::move(compacted));
  time_.Elapse(Duration{0});
  etcdserverpb::RangeResponse page;
  page.mutable_header()->set_revision(50);
  transport_.TakeRange().Answer(std::move(page));
  time_.Elapse(Duration{0});
  follower_.ForgetStatus();
  EXPECT_EQ(follower_.Status()->counters.watch_resyncs, 1u);
  follower_.Close(kEnded);
  follower_.ForgetStatus();
  EXPECT_EQ(follower_.Status()->counters.watch_resyncs, 1u);
}

// Plan: a trouble goes on for long, is over, and comes back with the same words.
TEST_F(GroupFollowerTest, LogsATroubleOnceWhileItLasts) {
  EXPECT_TRUE(follower_.IsNewTrouble("a"));
  EXPECT_FALSE(follower_.IsNewTrouble("a"));
  for (int i = 0; i < 10; ++i) {
    time_.Elapse(GroupFollower::kTroubleIsOver);
    EXPECT_FALSE(follower_.IsNewTrouble("a"));
  }
  time_.Elapse(GroupFollower::kTroubleIsOver + milliseconds(1));
  EXPECT_TRUE(follower_.IsNewTrouble("a"));
}

TEST_F(GroupFollowerTest, AHeartbeatIsDueOnceAnHour) {
  follower_.Start();
  time_.Elapse(kHeartbeatEvery - milliseconds(1));
  EXPECT_FALSE(follower_.HeartbeatDue());
  time_.Elapse(milliseconds(1));
  EXPECT_TRUE(follower_.HeartbeatDue());
  EXPECT_FALSE(follower_.HeartbeatDue());
}

}  // namespace
}  // namespace baton::runtime
