// Routes of a false server, and what the next server's check leaves of them. The false server says
// that it is of the same history as the others. Its revisions may be greater than etcd's.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "routing/client/merged_routes.h"
#include "routing/client/route_store.h"
#include "routing/routes_messages.h"

namespace baton::routing {
namespace {

constexpr std::int64_t kFalse = std::int64_t{1} << 62;

/// "a 10, b 11, -, -": leader and term of each shard.
std::string All(MergedRoutes& routes) {
  std::string words;
  const auto table = routes.Table();
  for (std::uint32_t shard = 0; shard < routes.mapping().shards; ++shard) {
    const Route route = table->Find(ShardId{shard});
    if (!words.empty()) words += ", ";
    words += route.leader.empty()
                 ? "-"
                 : std::string(route.address) + " " + std::to_string(route.term.value);
  }
  return words;
}

/// The routes of honest servers. Shard 2 has no leader.
const std::vector<RouteOf> kTrue = {{0, "a", 10, 10}, {1, "a", 11, 11}, {2}, {3, "b", 13, 13}};
constexpr const char* kAllTrue = "a:1 10, a:1 11, -, b:1 13";

std::vector<RouteOf> FalseRoutes(std::int64_t revision) {
  std::vector<RouteOf> routes;
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    routes.push_back({shard, "a", revision, revision, v1::Route::STATE_LED, "evil:1"});
  }
  return routes;
}

/// Opens a stream at a server that answers as servers do: only with routes after the request's
/// revision. Ends with its check.
void Follow(MergedRoutes& routes, std::int64_t complete_to, const std::vector<RouteOf>& all) {
  const std::int64_t after = routes.BeginStream().after_revision();
  std::vector<RouteOf> newer;
  for (const RouteOf& route : all) {
    if (route.revision > after || after == 0) newer.push_back(route);
  }
  ASSERT_TRUE(routes.Apply(First({}, complete_to, newer)).ok());
  if (after > 0) {
    ASSERT_TRUE(routes.Apply(Check(complete_to, all)).ok());
  }
}

// Plan: true routes, then a false server's with revisions that etcd does not have, or with that of
// the true routes. Then an honest server: its check finds the falsehood, and the next stream brings
// all routes, though their revisions are smaller. What changes then is heard of.
TEST(CheckedRoutes, ACheckEndsWhatAFalseServerSaid) {
  for (const std::int64_t revision : {kFalse, std::int64_t{20}, std::int64_t{1'000}}) {
    MergedRoutes routes("orders");
    Follow(routes, 20, kTrue);
    ASSERT_EQ(All(routes), kAllTrue);
    routes.BeginStream();
    ASSERT_TRUE(routes.Apply(First({}, revision, FalseRoutes(revision))).ok());
    const std::string evil = "evil:1 " + std::to_string(revision);
    ASSERT_EQ(All(routes), evil + ", " + evil + ", " + evil + ", " + evil);
    Follow(routes, 25, kTrue);
    EXPECT_TRUE(routes.doubted());
    EXPECT_FALSE(routes.complete());
    Follow(routes, 25, kTrue);
    EXPECT_FALSE(routes.doubted());
    EXPECT_EQ(All(routes), kAllTrue);
    EXPECT_EQ(routes.revision(), Revision{25});
    ASSERT_TRUE(routes.Apply(Delta(30, {{0, "c", 30, 30}})).ok());
    EXPECT_EQ(All(routes), "c:1 30, a:1 11, -, b:1 13");
  }
}

// Plan: a router whose first server is false, and which says so much of one shard alone.
TEST(CheckedRoutes, ACheckEndsWhatTheFirstServerSaid) {
  MergedRoutes routes("orders");
  std::vector<RouteOf> almost = kTrue;
  almost[3].address = "evil:1";
  ASSERT_TRUE(routes.Apply(First({}, 20, almost)).ok());
  Follow(routes, 20, kTrue);
  EXPECT_TRUE(routes.doubted());
  Follow(routes, 20, kTrue);
  EXPECT_EQ(All(routes), kAllTrue);
}

// Plan: a server sends a check that passes, and then others. They are not looked at: each would
// take the router some milliseconds.
TEST(CheckedRoutes, AStreamHasOneCheck) {
  MergedRoutes routes("orders");
  Follow(routes, 20, kTrue);
  Follow(routes, 25, kTrue);
  ASSERT_TRUE(routes.Apply(Check(30, FalseRoutes(30))).ok());
  EXPECT_FALSE(routes.doubted());
  EXPECT_EQ(routes.revision(), Revision{30});
  EXPECT_EQ(All(routes), kAllTrue);
}

// Plan: the false server's routes are true, and only their revisions are not. The check passes, and
// ends the revisions.
TEST(CheckedRoutes, ACheckEndsFalseRevisionsOfTrueRoutes) {
  MergedRoutes routes("orders");
  std::vector<RouteOf> inflated = kTrue;
  for (RouteOf& route : inflated) route.revision = kFalse;
  ASSERT_TRUE(routes.Apply(First({}, kFalse, inflated)).ok());
  Follow(routes, 20, kTrue);
  EXPECT_FALSE(routes.doubted());
  EXPECT_EQ(routes.revision(), Revision{20});
  ASSERT_TRUE(routes.Apply(Delta(30, {{0, "c", 30, 30}})).ok());
  EXPECT_EQ(All(routes), "c:1 30, a:1 11, -, b:1 13");
  EXPECT_EQ(routes.BeginStream().after_revision(), 30);
}

// Plan: the false server goes away before its snapshot ends. The next server sends all routes, and
// no check.
TEST(CheckedRoutes, ASnapshotEndsWhatWasNeverComplete) {
  MergedRoutes routes("orders");
  ASSERT_TRUE(routes.Apply(First({.ends = false}, 0, FalseRoutes(kFalse))).ok());
  Follow(routes, 20, kTrue);
  EXPECT_EQ(All(routes), kAllTrue);
}

// Plan: the routes come from a server whose view has a greater revision than the next one's, though
// nothing of the group has changed since. The check passes. A third server that lags takes back
// nothing of what both said.
TEST(CheckedRoutes, ACheckThatPassesLetsNoLaggingServerIn) {
  MergedRoutes routes("orders");
  std::vector<RouteOf> later = kTrue;
  later[0].revision = 35;
  Follow(routes, 500, later);
  Follow(routes, 20, kTrue);
  EXPECT_FALSE(routes.doubted());
  EXPECT_EQ(routes.revision(), Revision{20});
  routes.BeginStream();
  ASSERT_TRUE(routes.Apply(First({.server = "n3"}, 9, {{0, "old", 9, 9}})).ok());
  EXPECT_EQ(All(routes), kAllTrue);
}

// Plan: a server that lags sends no check, because its view is not proven. Nothing goes back.
TEST(CheckedRoutes, WithoutACheckNothingIsForgotten) {
  MergedRoutes routes("orders");
  Follow(routes, 50, kTrue);
  routes.BeginStream();
  ASSERT_TRUE(routes.Apply(First({.server = "n2"}, 8)).ok());
  ASSERT_TRUE(routes.Apply(Delta(9, {{0, "old", 9, 9}})).ok());
  EXPECT_EQ(All(routes), kAllTrue);
  EXPECT_EQ(routes.revision(), Revision{50});
}

// Plan: a check within a stream that began with all routes is wrong. A server that sends such
// checks can't make a router read all routes again and again.
TEST(CheckedRoutes, AStreamWithAllRoutesIsNotDoubted) {
  MergedRoutes routes("orders");
  Follow(routes, 20, kTrue);
  ASSERT_TRUE(routes.Apply(Check(20, FalseRoutes(20))).ok());
  EXPECT_FALSE(routes.doubted());
  EXPECT_TRUE(routes.complete());
  EXPECT_EQ(All(routes), kAllTrue);
}

// Plan: one of the routes has a false standby, or one that is not ready.
TEST(CheckedRoutes, StandbysAreChecked) {
  const auto with = [](std::vector<StandbyOf> standbys) {
    std::vector<RouteOf> all = kTrue;
    all[1].standbys = std::move(standbys);
    return all;
  };
  const auto honest = with({{"b", true}, {"c"}});
  for (const auto& said : {with({{"b", true}, {"c"}}), with({{"b"}, {"c"}}),
                           with({{"evil", true}, {"c"}}), with({{"c"}, {"b", true}}), kTrue}) {
    MergedRoutes routes("orders");
    ASSERT_TRUE(routes.Apply(First({}, 20, said)).ok());
    const bool same = said[1].standbys.size() == 2 && said[1].standbys[0].node == "b" &&
                      said[1].standbys[0].ready;
    Follow(routes, 20, honest);
    EXPECT_EQ(routes.doubted(), !same);
  }
}

// Plan: addresses that this router does not use count for the check all the same; those that no
// router uses count as none.
TEST(CheckedRoutes, AddressesCountAsServersKnowThem) {
  for (const auto allowed : {LeaderAddresses::kHostsAndPorts, LeaderAddresses::kUnixSocketsToo}) {
    MergedRoutes routes("orders", allowed);
    const auto of = [](std::string first, std::string second) {
      return std::vector<RouteOf>{{0, "a", 10, 10, v1::Route::STATE_LED, std::move(first)},
                                  {1, "b", 10, 10, v1::Route::STATE_LED, std::move(second)}};
    };
    ASSERT_TRUE(
        routes.Apply(First({.shards = 2}, 20, of("unix:/run/a.sock", "xds:///orders"))).ok());
    routes.BeginStream();
    ASSERT_TRUE(routes.Apply(First({.shards = 2}, 20)).ok());
    ASSERT_TRUE(routes.Apply(Check(20, of("unix:/run/a.sock", ""))).ok());
    EXPECT_FALSE(routes.doubted());
    EXPECT_EQ(DigestedAddress("xds:///orders"), "");
  }
}

// Plan: a false server names as many nodes as a router takes at once, then one more. Afterwards
// routes with nodes that are known are read as ever, and new ones after a moment.
TEST(CheckedRoutes, AFalseServerCantUseUpTheNodes) {
  RouteStore store("orders");
  const TimePoint now{std::chrono::seconds(1000)};
  ASSERT_TRUE(store.Merge(First({}, 20, kTrue), now).ok());
  v1::WatchRoutesResponse many = Delta(20);
  for (std::size_t i = 2; i < kNewNodesAtOnce; ++i) AddNode(many, std::to_string(i), "evil:1");
  v1::WatchRoutesResponse more = many;
  AddNode(more, "more", "evil:1");
  EXPECT_EQ(store.Merge(more, now).error().message, "has named too many new nodes at once");
  ASSERT_TRUE(store.Merge(many, now).ok());
  EXPECT_TRUE(store.Merge(Delta(30, {{0, "b", 30, 30}}), now).ok());
  const v1::WatchRoutesResponse fresh = Delta(31, {{0, "c", 31, 31}});
  EXPECT_FALSE(store.Merge(fresh, now + kNewNodeEvery - Duration{1}).ok());
  EXPECT_EQ(store.Find(ShardId{0}).route.leader, "b");
  EXPECT_TRUE(store.Merge(fresh, now + kNewNodeEvery).ok());
  EXPECT_EQ(store.Find(ShardId{0}).route.leader, "c");
}

// Plan: the digest of two shards is that of the text in routing.proto. sha256sum has computed it.
TEST(CheckedRoutes, TheDigestIsTheDocumentedOne) {
  const std::string digest =
      Check(1, {{0, "a", 10, 10, v1::Route::STATE_LED, {}, {{"b", true}}}, {1}}).check();
  std::string hex;
  for (const char byte : digest) {
    constexpr const char* kDigits = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  EXPECT_EQ(hex, "1261c3d2cc53028291af53c57aad3cbc8767aa5b7475dfd856f2426ac4bdc74d");
}

}  // namespace
}  // namespace baton::routing
