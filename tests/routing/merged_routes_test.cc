// Merging routes: which of two routes stays, what a new stream changes, and which messages are
// refused as a whole.
#include "routing/client/merged_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "routing/routes_messages.h"

namespace baton::routing {
namespace {

using ::testing::HasSubstr;

std::string Describe(const Route& route) {
  return std::string(route.leader) + "@" + std::string(route.address) + " " +
         std::to_string(route.term.value) + " " + ToString(route.state);
}

std::string At(MergedRoutes& routes, std::uint32_t shard) {
  return Describe(routes.Table()->Find(ShardId{shard}));
}

constexpr const char* kNobody = "@ 0 leaderless";

/// "b@b:1 ready, c@c:1"
std::string StandbysAt(MergedRoutes& routes, std::uint32_t shard) {
  std::string words;
  for (const RouteStandby& standby : routes.Table()->StandbysOf(ShardId{shard})) {
    if (!words.empty()) words += ", ";
    words += std::string(standby.node) + "@" + std::string(standby.address);
    if (standby.ready) words += " ready";
  }
  return words;
}

TEST(MergedRoutes, KeepsOfTwoRoutesTheOneOfTheGreaterRevisionAndOfEqualOnesTheLater) {
  MergedRoutes routes("orders");
  ASSERT_TRUE(routes.Apply(First({}, 20, {{0, "a", 10, 10}, {1, "a", 11, 20}})).ok());
  EXPECT_EQ(At(routes, 0), "a@a:1 10 led");
  EXPECT_EQ(At(routes, 2), kNobody);
  ASSERT_TRUE(routes.Apply(Delta(30, {{0, "b", 30, 30}, {1, "b", 9, 19}})).ok());
  EXPECT_EQ(At(routes, 0), "b@b:1 30 led");
  EXPECT_EQ(At(routes, 1), "a@a:1 11 led") << "an older route came late";
  ASSERT_TRUE(routes.Apply(Delta(30, {{0, "b", 30, 30, v1::Route::STATE_MOVING}})).ok());
  EXPECT_EQ(At(routes, 0), "b@b:1 30 moving");
  ASSERT_TRUE(routes.Apply(Delta(31, {{.shard = 0, .revision = 31}})).ok());
  EXPECT_EQ(At(routes, 0), kNobody);
  EXPECT_EQ(routes.revision(), Revision{31});
}

// Plan: each shard's routes have growing revisions and arrive in random order, over several streams
// of servers that lag. The route with the greatest revision stays.
TEST(MergedRoutes, EndsWithTheNewestInAnyOrder) {
  constexpr std::uint32_t kShards = 16;
  std::mt19937 random(4711);
  for (int trial = 0; trial < 200; ++trial) {
    MergedRoutes routes("orders");
    std::vector<RouteOf> all;
    std::vector<std::string> newest(kShards);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      for (std::int64_t revision = 1; revision <= 8; ++revision) {
        const std::string leader = random() % 5 == 0 ? "" : std::string(1, 'a' + random() % 4);
        all.push_back({shard, leader, revision, revision});
        newest[shard] = leader.empty()
                            ? kNobody
                            : leader + "@" + leader + ":1 " + std::to_string(revision) + " led";
      }
    }
    std::shuffle(all.begin(), all.end(), random);
    for (std::size_t at = 0; at < all.size();) {
      if (at == 0 || random() % 4 == 0) {
        routes.BeginStream();
        const std::string server(1, 'a' + random() % 4);
        ASSERT_TRUE(routes.Apply(First({.shards = kShards, .server = server}, 1)).ok());
      }
      const std::size_t end = std::min(all.size(), at + 1 + random() % 7);
      ASSERT_TRUE(routes.Apply(Delta(0, {all.begin() + at, all.begin() + end})).ok());
      at = end;
    }
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(At(routes, shard), newest[shard]);
    }
  }
}

TEST(MergedRoutes, TakesWhatMayHaveEndedForLedOnceAnotherStreamBegins) {
  MergedRoutes routes("orders");
  ASSERT_TRUE(routes
                  .Apply(First({}, 20,
                               {{0, "n1", 10, 10, v1::Route::STATE_ACTIVATING},
                                {1, "n1", 11, 11, v1::Route::STATE_SUSPENDED},
                                {2, "n1", 12, 12, v1::Route::STATE_MOVING}}))
                  .ok());
  EXPECT_EQ(At(routes, 1), "n1@n1:1 11 suspended");
  const v1::WatchRoutesRequest request = routes.BeginStream();
  EXPECT_EQ(request.group(), "orders");
  EXPECT_EQ(request.after_revision(), 20);
  EXPECT_EQ(request.cluster(), 77u);
  EXPECT_EQ(At(routes, 0), "n1@n1:1 10 activating") << "nobody has said otherwise yet";
  ASSERT_TRUE(routes.Apply(First({.server = "n2"}, 20)).ok());
  EXPECT_TRUE(routes.resumed());
  EXPECT_EQ(At(routes, 0), "n1@n1:1 10 led");
  EXPECT_EQ(At(routes, 1), "n1@n1:1 11 led");
  EXPECT_EQ(At(routes, 2), "n1@n1:1 12 led");
}

// Plan: n2's routes are complete up to revision 50. Then n1, which leads the shards, sends their
// states with older revisions.
TEST(MergedRoutes, TakesWhatTheLeaderAloneKnowsAlsoWithAnOlderStamp) {
  MergedRoutes routes("orders");
  ASSERT_TRUE(
      routes.Apply(First({.server = "n2"}, 50, {{0, "n1", 10, 50}, {1, "n1", 11, 50}})).ok());
  routes.BeginStream();
  ASSERT_TRUE(routes
                  .Apply(First({}, 50,
                               {{0, "n1", 10, 20, v1::Route::STATE_SUSPENDED},
                                {1, "n1", 9, 20, v1::Route::STATE_SUSPENDED}}))
                  .ok());
  EXPECT_EQ(At(routes, 0), "n1@n1:1 10 suspended");
  EXPECT_EQ(At(routes, 1), "n1@n1:1 11 led") << "of an older term";
  ASSERT_TRUE(routes.Apply(Delta(50, {{0, "n1", 10, 20}})).ok());
  EXPECT_EQ(At(routes, 0), "n1@n1:1 10 led");
}

// Plan: a server that lags answers a resumption. The newer route stays, and so does the revision up
// to which routes are complete.
TEST(MergedRoutes, GoesBackForNoServer) {
  MergedRoutes routes("orders");
  ASSERT_TRUE(routes.Apply(First({}, 50, {{0, "b", 50, 50}})).ok());
  routes.BeginStream();
  ASSERT_TRUE(routes.Apply(First({.server = "n2"}, 40, {{0, "a", 40, 40}})).ok());
  EXPECT_EQ(At(routes, 0), "b@b:1 50 led");
  EXPECT_EQ(routes.revision(), Revision{50});
}

TEST(MergedRoutes, ForgetsAllThatCameFromAnotherStore) {
  for (const bool said : {true, false}) {
    MergedRoutes routes("orders");
    ASSERT_TRUE(routes.Apply(First({}, 50, {{0, "a", 50, 50}, {1, "a", 50, 50}})).ok());
    routes.BeginStream();
    const FirstOf first{.cluster = 78, .anew = said, .ends = false};
    ASSERT_TRUE(routes.Apply(First(first, 0, {{0, "a", 5, 5}})).ok());
    EXPECT_FALSE(routes.complete());
    EXPECT_FALSE(routes.resumed());
    EXPECT_EQ(At(routes, 0), "a@a:1 5 led");
    EXPECT_EQ(At(routes, 1), kNobody);
    EXPECT_EQ(routes.BeginStream().after_revision(), 0) << "its snapshot never ended";
  }
}

// Plan: shard 0's routes come with standbys, of greater, equal and smaller revisions, and without a
// leader. A caller that waits for another leader is not woken.
TEST(MergedRoutes, KeepsTheStandbysOfTheRouteThatWins) {
  MergedRoutes routes("orders");
  const auto route = [](std::int64_t revision, std::vector<StandbyOf> standbys) {
    return RouteOf{.shard = 0,
                   .leader = "a",
                   .term = 10,
                   .revision = revision,
                   .standbys = std::move(standbys)};
  };
  ASSERT_TRUE(routes.Apply(First({}, 20, {{0, "a", 10, 20}})).ok());
  EXPECT_EQ(StandbysAt(routes, 0), "");
  const std::uint64_t before = routes.changes(ShardId{0});
  ASSERT_TRUE(routes.Apply(Delta(21, {route(21, {{"b", true}, {"c"}})})).ok());
  EXPECT_EQ(StandbysAt(routes, 0), "b@b:1 ready, c@c:1");
  EXPECT_EQ(StandbysAt(routes, 1), "");
  EXPECT_EQ(StandbysAt(routes, 9), "") << "no such shard";
  EXPECT_EQ(At(routes, 0), "a@a:1 10 led");
  ASSERT_TRUE(routes.Apply(Delta(21, {route(20, {{"d", true}})})).ok());
  EXPECT_EQ(StandbysAt(routes, 0), "b@b:1 ready, c@c:1") << "an older route came late";
  ASSERT_TRUE(routes.Apply(Delta(21, {route(21, {{"c", true}})})).ok());
  EXPECT_EQ(StandbysAt(routes, 0), "c@c:1 ready");
  EXPECT_EQ(routes.changes(ShardId{0}), before);
  ASSERT_TRUE(
      routes.Apply(Delta(22, {{.shard = 0, .revision = 22, .standbys = {{"c", true}, {"e"}}}}))
          .ok());
  EXPECT_EQ(At(routes, 0), kNobody);
  EXPECT_EQ(StandbysAt(routes, 0), "c@c:1 ready, e@e:1");
  ASSERT_TRUE(routes.Apply(Delta(23, {route(23, {})})).ok());
  EXPECT_EQ(StandbysAt(routes, 0), "");
}

// Plan: a later version may allow more standbys than this one knows of. Then another store's
// routes, which have none.
TEST(MergedRoutes, KeepsTheFirstStandbysAndForgetsThemWithTheStore) {
  MergedRoutes routes("orders");
  RouteOf route{.shard = 2, .leader = "a", .term = 10, .revision = 10};
  for (int i = 0; i <= kMaxStandbysKept; ++i) route.standbys.push_back({"s" + std::to_string(i)});
  ASSERT_TRUE(routes.Apply(First({}, 20, {route})).ok());
  const auto table = routes.Table();
  const auto standbys = table->StandbysOf(ShardId{2});
  ASSERT_EQ(standbys.size(), static_cast<std::size_t>(kMaxStandbysKept));
  EXPECT_EQ(standbys.front(), (RouteStandby{"s0", "s0:1", false}));
  routes.BeginStream();
  ASSERT_TRUE(routes.Apply(First({.cluster = 78}, 5)).ok());
  EXPECT_EQ(StandbysAt(routes, 2), "");
  EXPECT_EQ(table->StandbysOf(ShardId{2}), standbys) << "a table never changes";
}

TEST(MergedRoutes, CountsTheChangesOfEachShard) {
  MergedRoutes routes("orders");
  ASSERT_TRUE(routes.Apply(First({}, 20, {{0, "a", 10, 10}})).ok());
  const std::uint64_t before = routes.changes(ShardId{0});
  ASSERT_TRUE(routes.Apply(Delta(21, {{0, "a", 10, 21}})).ok());
  EXPECT_EQ(routes.changes(ShardId{0}), before) << "the same again";
  ASSERT_TRUE(routes.Apply(Delta(22, {{0, "b", 22, 22}})).ok());
  EXPECT_GT(routes.changes(ShardId{0}), before);
  EXPECT_EQ(routes.changes(ShardId{1}), 0u);
}

TEST(MergedRoutes, RefusesAnotherGroupAndAnotherMapping) {
  MergedRoutes routes("orders");
  const Status group = routes.Apply(First({.group = "users"}, 20));
  EXPECT_EQ(group.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(group.error().message,
            "serves group 'users', not 'orders': name endpoints of that group");
  ASSERT_TRUE(routes.Apply(First({}, 20)).ok());
  routes.BeginStream();
  const Status mapping = routes.Apply(First({.shards = 8, .cluster = 78, .anew = true}, 20));
  EXPECT_EQ(mapping.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(mapping.error().message,
              HasSubstr("maps keys to 8 shards by murmur2, but this router's "
                        "routes are for 4 shards by murmur2"));
  EXPECT_TRUE(routes.complete()) << "what is held stays";
}

// Plan: one node's address can't be used, since somebody has put it into etcd. That node's route
// has no address, and the others are as good as ever.
TEST(MergedRoutes, OneBadAddressCostsItsNodeTheAddressAlone) {
  for (const std::string& bad : {std::string(513, 'x'), std::string("a b:1"), std::string("a\nb:1"),
                                 std::string("b"), std::string("unix:/run/b.sock"),
                                 std::string("dns://10.0.0.9/b:1"), std::string("unix:1")}) {
    MergedRoutes routes("orders");
    ASSERT_TRUE(routes.Apply(First({}, 20, {{0, "a", 10, 10}})).ok());
    const Status applied =
        routes.Apply(Delta(30, {{1, "b", 30, 30, v1::Route::STATE_LED, bad}, {2, "c", 30, 30}}));
    ASSERT_TRUE(applied.ok()) << applied.error().message;
    EXPECT_EQ(At(routes, 0), "a@a:1 10 led");
    EXPECT_EQ(At(routes, 1), "b@ 30 led");
    EXPECT_EQ(At(routes, 2), "c@c:1 30 led");
  }
}

// Plan: the same socket of this host, once refused and once allowed.
TEST(MergedRoutes, UnixSocketsAreLeadersAddressesOnlyIfAllowed) {
  for (const auto allowed : {LeaderAddresses::kHostsAndPorts, LeaderAddresses::kUnixSocketsToo}) {
    MergedRoutes routes("orders", allowed);
    const auto route = [](std::uint32_t shard, const char* address) {
      return RouteOf{shard, "a", 10, 10, v1::Route::STATE_LED, address};
    };
    ASSERT_TRUE(routes
                    .Apply(First({}, 20,
                                 {route(0, "unix:/run/a.sock"), route(1, "unix:a.sock"),
                                  route(2, "unix-abstract:a"), route(3, "a:1")}))
                    .ok());
    const bool too = allowed == LeaderAddresses::kUnixSocketsToo;
    EXPECT_EQ(At(routes, 0), too ? "a@unix:/run/a.sock 10 led" : "a@ 10 led");
    EXPECT_EQ(At(routes, 1), "a@ 10 led");
    EXPECT_EQ(At(routes, 2), "a@ 10 led");
    EXPECT_EQ(At(routes, 3), "a@a:1 10 led");
  }
}

// Plan: an invalid message changes nothing, even if some of its routes are good.
TEST(MergedRoutes, RefusesWholeWhatCannotBe) {
  const std::pair<const char*, std::function<void(v1::WatchRoutesResponse&)>> cases[] = {
      {"5 routes of 4 shards",
       [](auto& message) {
         for (int i = 0; i < 4; ++i) Add(message, {0, "b", 30, 30});
       }},
      {"shard 9 of 4",
       [](auto& message) {
         Add(message, {9, "a", 30, 30});
       }},
      {"leader 7 of 1", [](auto& message) { message.mutable_routes(0)->set_leader(7); }},
      {"standby 9 of 1",
       [](auto& message) { message.mutable_routes(0)->add_standbys()->set_node(9); }},
      {"standby 0 of 1", [](auto& message) { message.mutable_routes(0)->add_standbys(); }},
      {"term 0", [](auto& message) { message.mutable_routes(0)->set_term(0); }},
      {"term -4", [](auto& message) { message.mutable_routes(0)->set_term(-4); }},
      {"sent an invalid route", [](auto& message) { message.mutable_routes(0)->set_revision(-1); }},
      {"sent an invalid node", [](auto& message) { message.mutable_nodes(0)->clear_node(); }},
      {"sent an invalid node", [](auto& message) { message.mutable_nodes(0)->set_node("a\nb"); }},
      {"at the invalid revision 0", [](auto& message) { message.set_snapshot_end(true); }},
      {"at the invalid revision -1", [](auto& message) { message.set_complete_to(-1); }},
  };
  for (const auto& [said, spoil] : cases) {
    MergedRoutes routes("orders");
    ASSERT_TRUE(routes.Apply(First({}, 20, {{0, "a", 10, 10}})).ok());
    v1::WatchRoutesResponse message = Delta(0, {{0, "b", 30, 30}});
    spoil(message);
    const Status applied = routes.Apply(message);
    ASSERT_FALSE(applied.ok()) << said;
    EXPECT_THAT(applied.error().message, HasSubstr(said));
    EXPECT_EQ(At(routes, 0), "a@a:1 10 led");
  }
  for (const FirstOf& first : {FirstOf{.shards = 0}, FirstOf{.shards = 1'000'001},
                               FirstOf{.hash = v1::KeyMapping::HASH_UNSPECIFIED}}) {
    MergedRoutes routes("orders");
    EXPECT_THAT(routes.Apply(First(first, 20)).error().message, HasSubstr("maps keys in a way"));
    EXPECT_FALSE(routes.mapped());
  }
}

}  // namespace
}  // namespace baton::routing
