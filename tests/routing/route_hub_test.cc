// The hub with the test's own clock, and with sinks that keep what they get: what streams are sent,
// how often it is encoded, and what a slow reader costs.
#include "routing/server/route_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace baton::routing {
namespace {

using runtime::RouteBatch;
using runtime::RouteGroup;
using runtime::RouteNode;
using runtime::ViewRoute;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kCluster = 77;

/// A caller that keeps what it reads, as a client does.
class Caller : public RouteSink {
 public:
  void Write(const RouteMessage& message) override {
    std::string bytes;
    for (const Bytes& part : message.parts) bytes += *part;
    v1::WatchRoutesResponse parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    for (const v1::Route& route : parsed.routes()) {
      shards.push_back(route.shard());
      held[route.shard()] = route;
      leaders[route.shard()] =
          route.leader() == 0 ? "" : parsed.nodes(static_cast<int>(route.leader()) - 1).node();
    }
    messages.push_back(parsed);
    parts = message.parts;
  }
  void End(const Error& why) override { ended = why; }

  const v1::WatchRoutesResponse& last() const { return messages.back(); }

  std::vector<v1::WatchRoutesResponse> messages;
  std::vector<Bytes> parts;  // of the last message
  std::vector<std::uint32_t> shards;
  std::map<std::uint32_t, v1::Route> held;
  std::map<std::uint32_t, std::string> leaders;
  std::optional<Error> ended;
};

class Hub : public ::testing::Test {
 protected:
  explicit Hub(std::uint32_t shards = 4) : shards_(shards) {
    group_ = std::make_shared<RouteGroup>(RouteGroup{.group = "orders",
                                                     .server = "n1",
                                                     .shards = shards_,
                                                     .hash = HashFunction::kMurmur2,
                                                     .incarnation = kCluster});
  }

  ViewRoute RouteOf(std::uint32_t shard, const std::string& leader, std::int64_t revision) {
    auto& known = leaders_[leader];
    if (!known) known = std::make_shared<RouteNode>(RouteNode{leader, leader + ":7400"});
    return {.shard = ShardId{shard},
            .leader = known,
            .term = Term{revision},
            .state = ShardState::kLed,
            .revision = Revision{revision}};
  }
  void Apply(std::vector<ViewRoute> routes, std::int64_t revision) {
    RouteBatch batch{.group = group_,
                     .routes = std::move(routes),
                     .revision = Revision{revision},
                     .proven_at = proven_at_,
                     .stale_after = seconds(10)};
    hub_.Apply(batch, now_);
    hub_.Advance(now_);
  }
  /// All shards, led by n1 at revision 10.
  void Fill() {
    std::vector<ViewRoute> routes;
    for (std::uint32_t s = 0; s < shards_; ++s) routes.push_back(RouteOf(s, "n1", 10));
    Apply(std::move(routes), 10);
  }
  Status Open(std::uint64_t id, Caller& caller, RouteRequest request = {}) {
    const Status added = hub_.Add(id, caller, request);
    hub_.Advance(now_);
    return added;
  }
  /// Delivers the message in flight, and all that follow it.
  void Read(std::uint64_t id, Caller& caller) {
    for (std::size_t before = 0; before != caller.messages.size();) {
      before = caller.messages.size();
      hub_.Written(id);
      hub_.Advance(now_);
    }
  }
  void Elapse(Duration time) {
    now_ += time;
    hub_.Advance(now_);
  }

  const std::uint32_t shards_;
  std::shared_ptr<RouteGroup> group_;
  std::map<std::string, std::shared_ptr<RouteNode>> leaders_;
  TimePoint now_{seconds(1000)};
  TimePoint proven_at_{seconds(1000)};
  RouteHub hub_;
};

TEST_F(Hub, RefusesUntilTheGroupWasReadAndForOtherGroups) {
  Caller early;
  const Status refused = Open(1, early);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  Fill();
  Caller other;
  const Status wrong = Open(2, other, {.group = "payments"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(wrong.error().message, HasSubstr("orders"));
  const Status long_one = Open(3, other, {.group = "pay\n" + std::string(1 << 20, 'm')});
  ASSERT_FALSE(long_one);
  EXPECT_THAT(long_one.error().message, HasSubstr("no group 'pay\\nmmm"));
  EXPECT_LT(long_one.error().message.size(), 200u);
  EXPECT_EQ(hub_.streams(), 0u);
}

TEST_F(Hub, ASnapshotComesFirstThenWhatChanges) {
  Fill();
  Caller caller;
  ASSERT_TRUE(Open(1, caller));
  Read(1, caller);
  ASSERT_EQ(caller.messages.size(), 1u);
  const v1::WatchRoutesResponse& first = caller.last();
  EXPECT_EQ(first.group(), "orders");
  EXPECT_EQ(first.server(), "n1");
  EXPECT_EQ(first.cluster(), kCluster);
  EXPECT_EQ(first.mapping().shards(), 4u);
  EXPECT_EQ(first.mapping().hash(), v1::KeyMapping::HASH_MURMUR2);
  EXPECT_FALSE(first.anew());
  EXPECT_TRUE(first.snapshot_end());
  EXPECT_EQ(first.complete_to(), 10);
  EXPECT_EQ(first.nodes_size(), 1);
  EXPECT_THAT(caller.shards, ElementsAre(0, 1, 2, 3));

  Apply({RouteOf(2, "n2", 11)}, 12);
  Read(1, caller);
  ASSERT_EQ(caller.messages.size(), 2u);
  EXPECT_EQ(caller.last().routes_size(), 1);
  EXPECT_EQ(caller.last().complete_to(), 12);
  EXPECT_FALSE(caller.last().snapshot_end());
  EXPECT_TRUE(caller.last().group().empty());
  EXPECT_EQ(caller.leaders[2], "n2");
}

// n2 leads shard 1 and stands by for shard 0. The message names it once, and no route without
// standbys has more than before.
TEST_F(Hub, StandbysComeWithTheirRoutes) {
  Fill();
  Caller caller;
  ASSERT_TRUE(Open(1, caller));
  Read(1, caller);
  const ViewRoute led = RouteOf(1, "n2", 11);
  ViewRoute route = RouteOf(0, "n1", 12);
  const ViewRoute other = RouteOf(2, "n3", 12);
  route.standbys = std::make_shared<const std::vector<runtime::ViewStandby>>(
      std::vector<runtime::ViewStandby>{{led.leader, true}, {other.leader, false}});
  Apply({route, led}, 12);
  Read(1, caller);
  const v1::WatchRoutesResponse& last = caller.last();
  ASSERT_EQ(last.nodes_size(), 3);
  const auto name = [&](std::uint32_t index) {
    return last.nodes(static_cast<int>(index) - 1).node();
  };
  const v1::Route& told = last.routes(0);
  EXPECT_EQ(name(told.leader()), "n1");
  ASSERT_EQ(told.standbys_size(), 2);
  EXPECT_EQ(name(told.standbys(0).node()), "n2");
  EXPECT_TRUE(told.standbys(0).ready());
  EXPECT_EQ(name(told.standbys(1).node()), "n3");
  EXPECT_FALSE(told.standbys(1).ready());
  EXPECT_EQ(last.nodes(2).address(), "n3:7400");
  EXPECT_EQ(last.routes(1).leader(), told.standbys(0).node());
  EXPECT_EQ(last.routes(1).standbys_size(), 0);
  const auto list = hub_.Lookup(ShardId{0}, now_);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list.value().routes.front().standbys, route.standbys);
}

// A thousand streams and ten deltas cause ten encodings and one of the snapshot's page. All streams
// share the same bytes.
TEST_F(Hub, ADeltaIsEncodedOnceForAllStreams) {
  Fill();
  std::vector<Caller> callers(1000);
  for (std::size_t i = 0; i < callers.size(); ++i) {
    ASSERT_TRUE(Open(i, callers[i]));
    Read(i, callers[i]);
  }
  EXPECT_EQ(hub_.counts().pages_encoded, 1u);
  for (std::int64_t revision = 11; revision <= 20; ++revision) {
    Apply({RouteOf(1, "n2", revision)}, revision);
    for (std::size_t i = 0; i < callers.size(); ++i) Read(i, callers[i]);
  }
  EXPECT_EQ(hub_.counts().deltas_encoded, 10u);
  EXPECT_EQ(hub_.counts().pages_encoded, 1u);
  for (Caller& caller : callers) {
    ASSERT_EQ(caller.messages.size(), 11u);
    EXPECT_EQ(caller.parts, callers[0].parts);
    EXPECT_EQ(caller.held[1].revision(), 20);
  }
}

// A reader stops while a thousand changes pass. When it reads again, one message has the newest
// state of each shard once.
TEST_F(Hub, ASlowReaderIsCoalescedToTheNewestState) {
  Fill();
  Caller slow;
  ASSERT_TRUE(Open(1, slow));
  for (std::int64_t revision = 11; revision <= 1010; ++revision) {
    Apply({RouteOf(static_cast<std::uint32_t>(revision % 2), "n2", revision)}, revision);
  }
  EXPECT_EQ(slow.messages.size(), 1u);
  slow.shards.clear();
  Read(1, slow);
  EXPECT_EQ(slow.messages.size(), 2u);
  EXPECT_THAT(slow.shards, ElementsAre(0, 1));
  EXPECT_EQ(slow.held[0].revision(), 1010);
  EXPECT_EQ(slow.held[1].revision(), 1009);
  EXPECT_EQ(slow.last().complete_to(), 1010);
  EXPECT_EQ(hub_.counts().catch_ups, 1u);
}

TEST_F(Hub, WhoComesBackGetsWhatChangedLaterAndStatesThatMayEndUnseen) {
  Fill();
  ViewRoute activating = RouteOf(3, "n1", 10), moving = RouteOf(2, "n1", 10);
  activating.state = ShardState::kActivating;
  moving.state = ShardState::kMoving;
  Apply({RouteOf(1, "n2", 15), moving, activating}, 15);
  Caller back;
  ASSERT_TRUE(Open(1, back, {.after = Revision{12}, .incarnation = kCluster}));
  Read(1, back);
  ASSERT_EQ(back.messages.size(), 1u);
  EXPECT_THAT(back.shards, ElementsAre(1, 2, 3));
  EXPECT_FALSE(back.last().anew());
  EXPECT_TRUE(back.last().snapshot_end());
  EXPECT_EQ(back.last().complete_to(), 15);
}

TEST_F(Hub, AnotherStoreBeginsAnew) {
  Fill();
  Caller stranger;
  ASSERT_TRUE(Open(1, stranger, {.after = Revision{5000}, .incarnation = kCluster + 1}));
  Read(1, stranger);
  EXPECT_TRUE(stranger.messages.front().anew());
  EXPECT_EQ(stranger.shards.size(), 4u);
}

// Plan: a caller goes on after a revision, which may be false. It gets one check, once a proof that
// began after its request has come. A caller that gets all routes gets none, nor does one of
// another store.
TEST_F(Hub, WhoComesBackGetsACheckOnceTheViewIsProvenCurrent) {
  Fill();
  Caller back, fresh, stranger;
  const Revision never{std::int64_t{1} << 62};
  now_ += seconds(1);
  ASSERT_TRUE(Open(1, back, {.after = never, .incarnation = kCluster, .came = now_}));
  ASSERT_TRUE(Open(2, fresh, {.came = now_}));
  ASSERT_TRUE(Open(3, stranger, {.after = never, .incarnation = 1, .came = now_}));
  Read(1, back);
  proven_at_ = now_;
  Apply({}, 10);
  Read(1, back);
  EXPECT_EQ(back.messages.size(), 1u) << "the proof began before the request came, or with it";
  proven_at_ = now_ + Duration{1};
  Apply({}, 10);
  ASSERT_EQ(back.messages.size(), 2u);
  const ViewRoute route = RouteOf(0, "n1", 10);
  EXPECT_EQ(back.last().check(), DigestOf({&route, &route, &route, &route}));
  EXPECT_EQ(back.last().complete_to(), 10);
  Read(1, back);
  Elapse(RouteHub::kHeartbeat);
  ASSERT_EQ(back.messages.size(), 3u);
  EXPECT_EQ(back.last().check(), "") << "once is enough";
  Read(2, fresh);
  Read(3, stranger);
  EXPECT_EQ(fresh.last().check(), "");
  EXPECT_EQ(stranger.last().check(), "");
  EXPECT_EQ(hub_.counts().checks, 1u);
}

// Plan: a route is ahead of the view's revision: the server wrote the record itself, and the watch
// has not delivered it yet. The check waits for the view.
TEST_F(Hub, ACheckWaitsUntilNoRouteIsAheadOfTheView) {
  Fill();
  Caller caller;
  ASSERT_TRUE(Open(1, caller, {.after = Revision{10}, .incarnation = kCluster, .came = now_}));
  Read(1, caller);
  proven_at_ = now_ + milliseconds(1);
  Apply({RouteOf(0, "n2", 12)}, 11);
  Read(1, caller);
  EXPECT_EQ(caller.leaders[0], "n2");
  EXPECT_EQ(caller.last().check(), "");
  Apply({}, 12);
  EXPECT_NE(caller.last().check(), "");
  EXPECT_EQ(caller.last().complete_to(), 12);
}

// Plan: when the proof comes, one caller has a message in flight. A route changes before it reads
// on. Its check comes after that change, and is of the routes with it. The hub does not hash twice
// within kCheckEvery, so the check waits for the next proof.
TEST_F(Hub, ACheckIsOfAllThatWasSentBeforeIt) {
  Fill();
  Caller quick, slow;
  const RouteRequest request{.after = Revision{10}, .incarnation = kCluster, .came = now_};
  ASSERT_TRUE(Open(1, quick, request));
  ASSERT_TRUE(Open(2, slow, request));
  Read(1, quick);
  proven_at_ = now_ + milliseconds(1);
  Apply({}, 10);
  const std::string before = quick.last().check();
  EXPECT_NE(before, "");
  Apply({RouteOf(0, "n2", 11)}, 11);
  Read(2, slow);
  EXPECT_EQ(slow.last().complete_to(), 11);
  EXPECT_EQ(slow.last().check(), "") << "too early";
  now_ += RouteHub::kCheckEvery;
  proven_at_ = now_;
  Apply({}, 11);
  EXPECT_NE(slow.last().check(), "");
  EXPECT_NE(slow.last().check(), before);
  EXPECT_EQ(hub_.counts().tables_hashed, 2u);
}

TEST_F(Hub, AQuietGroupIsHeardOfAllTheSame) {
  Fill();
  Caller caller;
  ASSERT_TRUE(Open(1, caller));
  Read(1, caller);
  Elapse(RouteHub::kHeartbeat - milliseconds(1));
  EXPECT_EQ(caller.messages.size(), 1u);
  Elapse(milliseconds(1));
  ASSERT_EQ(caller.messages.size(), 2u);
  EXPECT_EQ(caller.last().routes_size(), 0);
  EXPECT_EQ(caller.last().complete_to(), 10);
  EXPECT_EQ(caller.last().age().seconds(), 2);
  // While a message is unread, nothing more is sent, for however long.
  Elapse(seconds(60));
  EXPECT_EQ(caller.messages.size(), 2u);
}

// A stream hears that the view is stale when that begins, not at the next heartbeat, and when a
// proof ends it.
TEST_F(Hub, AViewWithoutProofIsStaleUntilThereIsOne) {
  Fill();
  Caller caller;
  ASSERT_TRUE(Open(1, caller));
  Read(1, caller);
  for (int i = 0; i < 4; ++i) {
    Elapse(milliseconds(2'400));
    Read(1, caller);
  }
  EXPECT_FALSE(caller.last().stale());
  const std::size_t before = caller.messages.size();
  Elapse(milliseconds(401));
  ASSERT_EQ(caller.messages.size(), before + 1);
  EXPECT_TRUE(caller.last().stale());
  Read(1, caller);
  proven_at_ = now_;
  Apply({}, 10);
  EXPECT_FALSE(caller.last().stale());
}

TEST_F(Hub, AStreamEndsWithTheView) {
  Fill();
  Caller caller;
  ASSERT_TRUE(Open(1, caller));
  hub_.End({ErrorCode::kUnavailable, "the node has stopped; ask another"});
  ASSERT_TRUE(caller.ended);
  EXPECT_THAT(caller.ended->message, HasSubstr("stopped"));
  Caller late;
  EXPECT_FALSE(Open(2, late));
}

TEST_F(Hub, APollWaitsForAChangeOrItsDeadline) {
  Fill();
  std::vector<RouteList> answers;
  const auto take = [&](Result<RouteList> list) { answers.push_back(std::move(list).value()); };
  hub_.Poll({.answer = take}, now_);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers.back().routes.size(), 4u);
  hub_.Poll({.after = Revision{10}, .deadline = now_ + seconds(30), .answer = take}, now_);
  EXPECT_EQ(answers.size(), 1u);
  Apply({RouteOf(3, "n2", 11)}, 11);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers.back().revision, Revision{11});
  EXPECT_EQ(answers.back().routes.size(), 1u);
  hub_.Poll({.after = Revision{11}, .deadline = now_ + seconds(30), .answer = take}, now_);
  Elapse(seconds(30));
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_THAT(answers.back().routes, IsEmpty());
  EXPECT_EQ(answers.back().revision, Revision{11});
}

/// More than two pages.
class LargeHub : public Hub {
 protected:
  LargeHub() : Hub(2 * RouteHub::kPage + 5) {}
};

TEST_F(LargeHub, ASnapshotComesInPagesThatAreEncodedOnce) {
  Fill();
  std::vector<Caller> callers(50);
  for (std::size_t i = 0; i < callers.size(); ++i) {
    ASSERT_TRUE(Open(i, callers[i]));
    Read(i, callers[i]);
  }
  EXPECT_EQ(hub_.counts().pages_encoded, 3u);
  for (const Caller& caller : callers) {
    ASSERT_EQ(caller.messages.size(), 3u);
    EXPECT_EQ(caller.held.size(), shards_);
    EXPECT_EQ(caller.messages[0].routes_size(), static_cast<int>(RouteHub::kPage));
    EXPECT_FALSE(caller.messages[0].snapshot_end());
    EXPECT_EQ(caller.messages[0].complete_to(), 0);
    EXPECT_TRUE(caller.messages[2].snapshot_end());
  }
}

// Plan: one change among many shards. A poll and a stream that know everything before it, and a
// stream that fell behind, examine its block and not the table. A stream that resumes finds states
// that only the leader knows, in any block, but none once they are over.
TEST_F(LargeHub, WhoKnowsNearlyAllCostsALookAtWhatChanged) {
  Fill();
  const std::uint32_t changed = shards_ - 1;
  Apply({RouteOf(changed, "n2", 20)}, 20);
  auto looked_at = [this, before = std::uint64_t{0}]() mutable {
    return hub_.counts().looked_at - std::exchange(before, hub_.counts().looked_at);
  };
  looked_at();

  Result<RouteList> list = Error{};
  hub_.Poll({.after = Revision{10}, .answer = [&](auto answer) { list = std::move(answer); }},
            now_);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list.value().routes.size(), 1u);
  EXPECT_EQ(list.value().routes[0].shard, ShardId{changed});
  EXPECT_LE(looked_at(), RouteHub::kBlock);

  Caller resumed;
  ASSERT_TRUE(Open(1, resumed, {.after = Revision{10}, .incarnation = kCluster}));
  Read(1, resumed);
  EXPECT_THAT(resumed.shards, ElementsAre(changed));
  EXPECT_LE(looked_at(), RouteHub::kBlock);

  ViewRoute own = RouteOf(3, "n1", 10);
  own.state = ShardState::kSuspended;
  Apply({own}, 20);
  Caller second;
  ASSERT_TRUE(Open(2, second, {.after = Revision{20}, .incarnation = kCluster}));
  Read(2, second);
  EXPECT_THAT(second.shards, ElementsAre(3));
  own.state = ShardState::kLed;
  Apply({own}, 20);
  Caller third;
  looked_at();
  ASSERT_TRUE(Open(3, third, {.after = Revision{20}, .incarnation = kCluster}));
  Read(3, third);
  EXPECT_THAT(third.shards, IsEmpty());
  EXPECT_EQ(looked_at(), 0u);
}

// A change in the part that the pass has sent already follows the pass. A change ahead of it comes
// with the pass.
TEST_F(LargeHub, ChangesDuringASnapshotAreNotMissed) {
  Fill();
  Caller caller;
  ASSERT_TRUE(Open(1, caller));
  Apply({RouteOf(0, "n2", 11)}, 11);
  Apply({RouteOf(shards_ - 1, "n2", 12)}, 12);
  Read(1, caller);
  EXPECT_EQ(caller.leaders[0], "n2");
  EXPECT_EQ(caller.leaders[shards_ - 1], "n2");
  EXPECT_EQ(caller.last().complete_to(), 12);
}

// A change that does not fit into a message is sent by passes, in pages.
TEST_F(LargeHub, AChangeOfEverythingComesInPages) {
  Fill();
  Caller caller;
  ASSERT_TRUE(Open(1, caller));
  Read(1, caller);
  std::vector<ViewRoute> routes;
  for (std::uint32_t s = 0; s < shards_; ++s) routes.push_back(RouteOf(s, "n2", 11));
  Apply(std::move(routes), 11);
  Read(1, caller);
  EXPECT_EQ(hub_.counts().deltas_encoded, 0u);
  for (const auto& message : caller.messages) {
    EXPECT_LE(message.routes_size(), static_cast<int>(RouteHub::kPage));
  }
  EXPECT_EQ(caller.leaders[shards_ / 2], "n2");
  EXPECT_EQ(caller.last().complete_to(), 11);
}

/// A caller that reads nothing, and so keeps its messages.
class StillCaller : public RouteSink {
 public:
  void Write(const RouteMessage& message) override {
    for (const Bytes& part : message.parts) kept.insert(part);
  }
  void End(const Error& why) override {
    ended = why;
    kept.clear();
  }

  std::set<Bytes> kept;
  std::optional<Error> ended;
};

std::size_t BytesOf(const std::vector<StillCaller>& callers) {
  std::set<Bytes> all;
  for (const StillCaller& caller : callers) all.insert(caller.kept.begin(), caller.kept.end());
  std::size_t bytes = 0;
  for (const Bytes& part : all) bytes += part->size();
  return bytes;
}

// Each caller knows all routes but those of the greatest revision, so it wants nearly all of a
// page, and a page of its own. They get theirs as long as there are few unsent ones, then the
// shared one. Once somebody reads, there is room again.
TEST_F(LargeHub, PrivatePagesShareABudget) {
  Fill();
  std::vector<ViewRoute> newer;
  for (std::uint32_t s = 1; s < shards_; ++s) newer.push_back(RouteOf(s, "n2", 20));
  Apply(std::move(newer), 20);
  const RouteRequest request{.after = Revision{10}, .incarnation = kCluster};
  std::vector<StillCaller> still(500);
  for (std::size_t i = 0; i < still.size(); ++i) ASSERT_TRUE(hub_.Add(i + 1, still[i], request));
  hub_.Advance(now_);
  EXPECT_GT(BytesOf(still), RouteHub::kPrivateBytes);
  EXPECT_LT(BytesOf(still), RouteHub::kPrivateBytes + (2 << 20));
  EXPECT_GT(hub_.counts().shared_instead, 0u);
  Caller caller;
  ASSERT_TRUE(Open(1'000, caller, request));
  Read(1'000, caller);
  EXPECT_EQ(caller.leaders.size(), shards_);
  EXPECT_EQ(caller.leaders.at(0), "n1") << "more than it asked for";
  EXPECT_EQ(caller.leaders.at(shards_ - 1), "n2");
  EXPECT_EQ(caller.last().complete_to(), 20);
}

// Plan: the budget is used up, and a caller wants one route. It gets few pages.
TEST_F(LargeHub, ACallerThatWantsOneRouteGetsFewPagesWithoutBudget) {
  Fill();
  std::vector<ViewRoute> newer;
  for (std::uint32_t s = 1; s < shards_; ++s) newer.push_back(RouteOf(s, "n2", 20));
  Apply(std::move(newer), 20);
  std::vector<StillCaller> still(500);
  for (std::size_t i = 0; i < still.size(); ++i) {
    ASSERT_TRUE(hub_.Add(i + 1, still[i], {.after = Revision{10}, .incarnation = kCluster}));
  }
  hub_.Advance(now_);
  Apply({RouteOf(shards_ - 1, "n3", 30)}, 30);
  const auto messages = hub_.counts().messages, shared = hub_.counts().shared_instead;
  Caller caller;
  ASSERT_TRUE(Open(1'000, caller, {.after = Revision{20}, .incarnation = kCluster}));
  Read(1'000, caller);
  EXPECT_LE(hub_.counts().shared_instead - shared, 2u) << "its block may lie in two pages";
  EXPECT_LE(hub_.counts().messages - messages, 4u);
  EXPECT_EQ(caller.leaders.at(shards_ - 1), "n3");
}

// The one who does not read for a minute is ended, the one who reads is not.
TEST_F(Hub, ACallerThatDoesNotReadIsEndedInTime) {
  Fill();
  StillCaller still;
  Caller caller;
  ASSERT_TRUE(hub_.Add(1, still, {}));
  ASSERT_TRUE(Open(2, caller));
  for (Duration time{0}; time < RouteHub::kSlowReader - seconds(2); time += seconds(1)) {
    Read(2, caller);
    Elapse(seconds(1));
  }
  EXPECT_FALSE(still.ended.has_value());
  for (int i = 0; i < 5; ++i) {
    Read(2, caller);
    Elapse(seconds(1));
  }
  ASSERT_TRUE(still.ended.has_value());
  EXPECT_THAT(still.ended->message, HasSubstr("not read"));
  EXPECT_FALSE(caller.ended.has_value());
  EXPECT_EQ(hub_.counts().slow_readers, 1u);
}

}  // namespace
}  // namespace baton::routing
