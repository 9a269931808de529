// The feed with its own view and virtual time: which shards it examines, what it tells, and how
// revisions grow.
#include "runtime/route_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "runtime/manual_time.h"
#include "runtime/node_status.h"

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Seen : public RouteObserver {
 public:
  void OnRoutes(const RouteBatch& batch) override {
    batches.push_back(batch);
    shards.clear();
    for (const ViewRoute& route : batch.routes) {
      shards.push_back(route.shard.value);
      EXPECT_GE(route.revision, held[route.shard.value].revision) << "it went back";
      held[route.shard.value] = route;
    }
  }
  void OnRoutesEnded(const Error& why) override { ended = why; }
  const RouteBatch& last() const { return batches.back(); }

  std::vector<RouteBatch> batches;
  std::vector<std::uint32_t> shards;  // of the last batch
  std::map<std::uint32_t, ViewRoute> held;
  std::optional<Error> ended;
};

class RouteFeedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    feed_ = std::make_shared<RouteFeed>(
        RouteSource{.executor = time_,
                    .clock = time_,
                    .view = view_,
                    .shard =
                        [this](ShardId shard) {
                          ++looks_;
                          ShardStatus status = ShardOf(view_, shard, TimePoint{});
                          status.standbys = standbys_[shard.value];
                          if (own_.contains(shard.value)) status.state = own_[shard.value];
                          return status;
                        },
                    .proven_at = [this] { return proven_at_; },
                    .stale_after = [] { return Duration(seconds(10)); }},
        RouteGroup{.group = "orders", .server = "n1", .shards = kShards, .incarnation = 7});
    feed_->Add(seen_);
  }

  static MemberFact Member(const NodeId& node, std::int64_t session, std::int64_t revision) {
    MemberFact fact;
    fact.node = node;
    fact.revision = fact.create_revision = Revision{revision};
    fact.present = true;
    fact.lease = fact.session = SessionId{session};
    fact.service_address = node + ":1";
    return fact;
  }
  static ShardRecordFact Led(std::uint32_t shard, const NodeId& node, std::int64_t session,
                             std::int64_t revision) {
    ShardRecordFact fact{.shard = ShardId{shard}};
    fact.record.revision = Revision{revision};
    fact.record.present = true;
    fact.record.leader = node;
    fact.record.session = SessionId{session};
    return fact;
  }
  /// n2, with these shards as ready and this address; its session goes on.
  static MemberFact N2(std::int64_t revision, std::vector<ShardId> ready,
                       const std::string& address = "n2:1") {
    MemberFact fact = Member("n2", 72, revision);
    fact.create_revision = Revision{3};
    fact.ready = std::move(ready);
    fact.service_address = address;
    return fact;
  }
  /// From now on n2 stands by for the shard.
  void StandBy(std::uint32_t shard, bool ready, const std::string& address = "n2:1") {
    standbys_[shard] = std::make_shared<const std::vector<StandbyStatus>>(
        std::vector<StandbyStatus>{{"n2", address, ready}});
  }
  void Note() {
    feed_->Note(view_.TakeChanges());
    feed_->NoteProof();
  }
  void Change(std::vector<Fact> facts, std::int64_t revision) {
    view_.Merge(Changes{.revision = Revision{revision}, .facts = std::move(facts)}, time_.Now());
    Note();
  }
  /// n1 and n2 are live, and n1 leads all shards; read at revision 20.
  void Read() {
    Snapshot snapshot{.revision = Revision{20}};
    snapshot.facts = {Member("n1", 71, 2), Member("n2", 72, 3)};
    for (std::uint32_t s = 0; s < kShards; ++s) snapshot.facts.push_back(Led(s, "n1", 71, 10));
    view_.Merge(snapshot, time_.Now());
    Note();
    time_.Elapse(seconds(1));
    looks_ = 0;
  }
  /// A move of shard 5 from n1 to n2 comes at revision 21, and a batch leaves.
  MoveFact BeginMove() {
    MoveFact move{.shard = ShardId{5}, .revision = Revision{21}, .present = true};
    move.ends = Term{10};
    move.from = "n1";
    move.to = "n2";
    Change({move}, 21);
    time_.Elapse(seconds(1));
    return move;
  }

  static constexpr std::uint32_t kShards = 1000;
  ManualTime time_;
  core::View view_{kShards, "n1"};
  TimePoint proven_at_{seconds(1000)};
  int looks_ = 0;
  std::map<std::uint32_t, std::shared_ptr<const std::vector<StandbyStatus>>> standbys_;
  std::map<std::uint32_t, ShardState> own_;  // what the shard's leader alone knows
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  std::shared_ptr<RouteFeed> feed_;
};

TEST_F(RouteFeedTest, TellsNothingBeforeTheViewIsComplete) {
  Change({Member("n1", 71, 5), Led(3, "n1", 71, 6)}, 6);
  time_.Elapse(seconds(5));
  EXPECT_THAT(seen_->batches, IsEmpty());
  Read();
  ASSERT_EQ(seen_->batches.size(), 1u);
  EXPECT_EQ(seen_->shards.size(), kShards);
  EXPECT_EQ(seen_->last().revision, Revision{20});
}

// Only changed shards are examined, of any number of shards.
TEST_F(RouteFeedTest, LooksOnlyAtShardsThatWereTouched) {
  Read();
  Change({Led(3, "n2", 72, 21), Led(8, "n2", 72, 22)}, 22);
  time_.Elapse(seconds(1));
  EXPECT_THAT(seen_->shards, ElementsAre(3, 8));
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(seen_->held[3].leader->node, "n2");
  EXPECT_EQ(seen_->held[3].term, Term{21});
  EXPECT_GE(seen_->held[3].revision, Revision{21});
}

TEST_F(RouteFeedTest, AStormComesInFewBatches) {
  Read();
  const std::size_t before = seen_->batches.size();
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    Change({Led(i % kShards, "n2", 72, 21 + i)}, 21 + i);
    time_.Elapse(std::chrono::microseconds(20));
  }
  time_.Elapse(seconds(1));
  EXPECT_LE(seen_->batches.size() - before, 45u);  // 200 ms of changes, and one batch every 5 ms
  EXPECT_EQ(seen_->held[999].term, Term{20 + 10'000});
}

// A death is one deleted key. Each shard that the member led gets at least the deletion's revision.
TEST_F(RouteFeedTest, ADeathIsTheDeathOfAllItsRoutes) {
  Read();
  MemberFact gone;
  gone.node = "n1";
  gone.revision = Revision{30};
  Change({gone}, 30);
  time_.Elapse(seconds(1));
  EXPECT_EQ(seen_->shards.size(), kShards);
  for (const auto& [shard, route] : seen_->held) {
    EXPECT_EQ(route.leader, nullptr);
    EXPECT_EQ(route.state, ShardState::kLeaderless);
    EXPECT_GE(route.revision, Revision{30});
  }
}

TEST_F(RouteFeedTest, ANewAddressIsToldForAllThatItsNodeLeads) {
  Read();
  Change({Led(3, "n2", 72, 21)}, 21);
  time_.Elapse(seconds(1));
  MemberFact moved = Member("n2", 72, 25);
  moved.create_revision = Revision{3};
  moved.service_address = "n2:2";
  Change({moved}, 25);
  time_.Elapse(seconds(1));
  EXPECT_THAT(seen_->shards, ElementsAre(3));
  EXPECT_EQ(seen_->held[3].leader->address, "n2:2");
  EXPECT_GE(seen_->held[3].revision, Revision{25});
}

// n2 is ready for shard 3 and says so, which changes no record of a shard. All routes that name n2
// share its names.
TEST_F(RouteFeedTest, AChangeOfTheStandbysIsAChangeOfTheRoute) {
  StandBy(3, false);
  StandBy(7, false);
  Read();
  ASSERT_NE(seen_->held[3].standbys, nullptr);
  EXPECT_FALSE(seen_->held[3].standbys->front().ready);
  EXPECT_EQ(seen_->held[4].standbys, nullptr);
  StandBy(3, true);
  Change({N2(21, {ShardId{3}})}, 21);
  time_.Elapse(seconds(1));
  EXPECT_THAT(seen_->shards, ElementsAre(3));
  EXPECT_EQ(looks_, 1);
  const ViewRoute& route = seen_->held[3];
  EXPECT_EQ(route.leader->node, "n1");
  EXPECT_GE(route.revision, Revision{21});
  ASSERT_EQ(route.standbys->size(), 1u);
  EXPECT_EQ(route.standbys->front().node->node, "n2");
  EXPECT_EQ(route.standbys->front().node->address, "n2:1");
  EXPECT_TRUE(route.standbys->front().ready);
  EXPECT_EQ(route.standbys->front().node, seen_->held[7].standbys->front().node);
  standbys_.erase(3);
  Change({N2(22, {})}, 22);
  time_.Elapse(seconds(1));
  EXPECT_EQ(seen_->held[3].standbys, nullptr);
}

TEST_F(RouteFeedTest, AStandbyThatWasReadyInBetweenMakesANewerRoute) {
  StandBy(3, false);
  Read();
  Change({N2(21, {ShardId{3}})}, 21);
  Change({N2(22, {})}, 22);
  time_.Elapse(seconds(1));
  EXPECT_THAT(seen_->shards, ElementsAre(3));
  EXPECT_FALSE(seen_->held[3].standbys->front().ready);
  EXPECT_GE(seen_->held[3].revision, Revision{22});
}

// The same change of n2 concerns no shard while n2 stands by for none.
TEST_F(RouteFeedTest, ANewAddressIsToldForAllThatItsNodeStandsByFor) {
  Read();
  Change({N2(21, {}, "n2:2")}, 21);
  time_.Elapse(seconds(1));
  EXPECT_EQ(looks_, 0);
  StandBy(3, true, "n2:2");
  StandBy(8, true, "n2:2");
  Change({N2(22, {ShardId{3}, ShardId{8}}, "n2:2")}, 22);
  time_.Elapse(seconds(1));
  looks_ = 0;
  StandBy(3, true, "n2:3");
  StandBy(8, true, "n2:3");
  Change({N2(25, {ShardId{3}, ShardId{8}}, "n2:3")}, 25);
  time_.Elapse(seconds(1));
  EXPECT_THAT(seen_->shards, ElementsAre(3, 8));
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(seen_->held[8].standbys->front().node->address, "n2:3");
  EXPECT_GE(seen_->held[8].revision, Revision{25});
}

// A move ends with its target, although the shard's record does not change.
TEST_F(RouteFeedTest, AMoveEndsWithItsTarget) {
  Read();
  BeginMove();
  EXPECT_EQ(seen_->held[5].state, ShardState::kMoving);
  MemberFact gone;
  gone.node = "n2";
  gone.revision = Revision{22};
  Change({gone}, 22);
  time_.Elapse(seconds(1));
  EXPECT_THAT(seen_->shards, ElementsAre(5));
  EXPECT_EQ(seen_->held[5].state, ShardState::kLed);
}

// Plan: the watch misses that n2 is gone, and a read shows it. The view has forgotten n2 then.
TEST_F(RouteFeedTest, AMoveEndsWithATargetThatAReadShowsGone) {
  Read();
  const MoveFact move = BeginMove();
  Snapshot snapshot{.revision = Revision{30}, .facts = {Member("n1", 71, 2), move}};
  for (std::uint32_t s = 0; s < kShards; ++s) snapshot.facts.push_back(Led(s, "n1", 71, 10));
  view_.Merge(snapshot, time_.Now());
  ASSERT_EQ(view_.member("n2"), nullptr);
  Note();
  time_.Elapse(seconds(1));
  EXPECT_THAT(seen_->shards, ElementsAre(5));
  EXPECT_EQ(seen_->held[5].state, ShardState::kLed);
}

// Plan: n1 releases shard 5 for a move when the move is withdrawn. It leads on, which no revision
// tells. A router that comes back in between with all up to 22 would think for ever that it moves.
TEST_F(RouteFeedTest, OnlyAMoveInEtcdMakesARouteMoving) {
  Read();
  own_[5] = ShardState::kMoving;
  MoveFact move = BeginMove();
  EXPECT_EQ(seen_->held[5].state, ShardState::kMoving);
  move.revision = Revision{22};
  move.present = false;
  Change({move}, 22);
  time_.Elapse(seconds(1));
  EXPECT_EQ(seen_->held[5].state, ShardState::kLed);
  EXPECT_EQ(seen_->held[5].revision, Revision{22});
  own_.clear();
  const std::size_t before = seen_->batches.size();
  feed_->Note(ShardId{5});
  time_.Elapse(seconds(1));
  EXPECT_EQ(seen_->batches.size(), before);
}

// The feed sends a route again that changed and changed back: a caller of another view may have
// seen it in between, and may come to this one.
TEST_F(RouteFeedTest, ARouteThatChangedAndChangedBackIsNewer) {
  Read();
  MemberFact gone;
  gone.node = "n1";
  gone.revision = Revision{30};
  Change({gone}, 30);
  Change({Member("n1", 71, 31)}, 31);
  time_.Elapse(seconds(1));
  EXPECT_EQ(seen_->shards.size(), kShards);
  EXPECT_EQ(seen_->held[1].leader->node, "n1");
  EXPECT_GE(seen_->held[1].revision, Revision{31});
}

TEST_F(RouteFeedTest, AProofWithoutAChangeIsToldWithinHalfASecond) {
  Read();
  const std::size_t before = seen_->batches.size();
  proven_at_ = time_.Now();
  feed_->NoteProof();
  time_.Elapse(RouteFeed::kProofWithin);
  ASSERT_EQ(seen_->batches.size(), before + 1);
  EXPECT_THAT(seen_->last().routes, IsEmpty());
  EXPECT_EQ(seen_->last().proven_at, proven_at_);
  time_.Elapse(seconds(60));
  EXPECT_EQ(seen_->batches.size(), before + 1);
}

TEST_F(RouteFeedTest, ALaterObserverGetsEverythingFirst) {
  Read();
  Change({Led(3, "n2", 72, 21)}, 21);
  auto late = std::make_shared<Seen>();
  feed_->Add(late);
  time_.Elapse(seconds(1));
  ASSERT_EQ(late->batches.size(), 1u);
  EXPECT_EQ(late->shards.size(), kShards);
  EXPECT_EQ(late->held[3].leader->node, "n2");
  EXPECT_THAT(seen_->shards, ElementsAre(3));
}

TEST_F(RouteFeedTest, EndsOnceForAll) {
  Read();
  feed_->Close({ErrorCode::kUnavailable, "the node has stopped; ask another"});
  ASSERT_TRUE(seen_->ended);
  auto late = std::make_shared<Seen>();
  feed_->Add(late);
  EXPECT_TRUE(late->ended);
}

}  // namespace
}  // namespace baton::runtime
