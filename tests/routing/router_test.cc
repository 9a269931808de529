// A router that follows real gRPC servers, which send what the tests tell them to: which server it
// follows, when it switches, and how it continues.
#include "baton/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "baton/owner_guard.h"
#include "routing/scripted_routes.h"

namespace baton::routing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<Router> Follow(std::vector<std::string> endpoints,
                               milliseconds silence = seconds(60)) {
  auto started =
      Router::Start({.group = "orders", .endpoints = std::move(endpoints), .silence = silence});
  EXPECT_TRUE(started.ok()) << started.error().message;
  return std::move(started).value();
}

bool AwaitLeader(Router& router, std::uint32_t shard, const std::string& leader) {
  return Until([&] { return router.Owner(ShardId{shard}).leader == leader; });
}

// Plan: addresses that only gRPC can resolve are left to it.
TEST(Router, TakesTargetsOfGrpc) {
  for (const char* target : {"unix:/run/orders.sock", "unix-abstract:orders", "ipv4:127.0.0.1:7400",
                             "ipv6:[::1]:7400", "dns:///orders.example:7400", "[::1]:7400"}) {
    EXPECT_TRUE(Router::Start({.group = "orders", .endpoints = {target}}).ok()) << target;
  }
}

// Plan: a process with a router forks. gRPC can't be used in the child, so no router starts there.
TEST(Router, StartsInNoForkedChild) {
  const auto router = Follow({"127.0.0.1:1"});
  const pid_t child = fork();
  if (child == 0) {
    const auto own = Router::Start({.group = "orders", .endpoints = {"127.0.0.1:1"}});
    _exit(!own.ok() && own.error().code == ErrorCode::kFailedPrecondition ? 0 : 1);
  }
  int ended = 1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
}

// Plan: the leader's hints name what only a resolver of gRPC or a socket of this host could be. The
// router follows none of them, and asks the leader that the routes name again.
TEST(Router, FollowsHintsToHostsAndPortsOnly) {
  ScriptedRoutes routes;
  ScriptedRoutes leader;
  const std::vector<std::string> hints = {"unix:/baton-no-such.sock", "unix:1",
                                          "dns://127.0.0.1/" + leader.address(),
                                          "ipv4:" + leader.address(), "xds:///b"};
  std::atomic<std::size_t> asked{0};
  leader.Handle([&](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse*) {
    const std::size_t attempt = asked.fetch_add(1);
    if (attempt >= hints.size()) return grpc::Status::OK;
    return NotLeaderStatus({{}, "b", hints[attempt], Term{99}});
  });
  routes.Greet(First({}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, leader.address()}}));
  const auto router = Router::Start({.group = "orders", .endpoints = {routes.address()}});
  ASSERT_TRUE(router.ok());
  ASSERT_TRUE((*router)->WaitReady(kPatience).ok());
  v1::LookupRequest request;
  v1::LookupResponse response;
  const grpc::Status status = (*router)->Call(ShardId{0}, &v1::RoutingService::Stub::Lookup,
                                              request, &response, {.deadline = kPatience});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(asked.load(), hints.size() + 1);
  EXPECT_EQ((*router)->counters().redirects, 0u);
}

// Plan: the leader's hint names a false leader. That one keeps the call: it asks it to wait, or to
// go on to itself in ever greater terms. The router soon asks the leader that the routes name
// again.
TEST(Router, NoHintKeepsACall) {
  for (const bool by_hints : {false, true}) {
    ScriptedRoutes routes, leader, evil;
    std::atomic<int> asked{0}, kept{0};
    leader.Handle([&](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse*) {
      if (asked.fetch_add(1) > 0) return grpc::Status::OK;
      return NotLeaderStatus({{}, "evil", evil.address(), Term{1'000}});
    });
    evil.Handle([&](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse*) {
      const int before = kept.fetch_add(1);
      if (!by_hints) return NoLeaderStatus({}, "wait", milliseconds(1));
      return NotLeaderStatus({{}, "evil", evil.address(), Term{1'001 + before}});
    });
    routes.Greet(First({}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, leader.address()}}));
    auto router = Follow({routes.address()});
    ASSERT_TRUE(router->WaitReady(kPatience).ok());
    v1::LookupRequest request;
    v1::LookupResponse response;
    const CallOptions options{.deadline = kPatience, .max_hops = 3};
    const grpc::Status status =
        router->Call(ShardId{0}, &v1::RoutingService::Stub::Lookup, request, &response, options);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(asked.load(), 2);
    EXPECT_EQ(kept.load(), by_hints ? options.max_hops : 1);
  }
}

// Plan: a leader's refusal has a reason of 20 kB. It reaches the router, which tries again.
TEST(Router, TriesAgainHoweverLongTheReasonOfARefusalIs) {
  ScriptedRoutes routes, leader;
  std::atomic<int> asked{0};
  leader.Handle([&](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse*) {
    if (asked.fetch_add(1) > 0) return grpc::Status::OK;
    return NoLeaderStatus({}, std::string(20'000, '\xE4'), milliseconds(1), "orders");
  });
  routes.Greet(First({}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, leader.address()}}));
  auto router = Follow({routes.address()});
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  v1::LookupRequest request;
  v1::LookupResponse response;
  const grpc::Status status = router->Call(ShardId{0}, &v1::RoutingService::Stub::Lookup, request,
                                           &response, {.deadline = kPatience});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(asked.load(), 2);
}

TEST(Router, RefusesInvalidOptions) {
  const RouterOptions good{.group = "orders", .endpoints = {"127.0.0.1:1"}};
  const std::pair<std::string, std::function<void(RouterOptions&)>> cases[] = {
      {"group '' is not a valid name", [](auto& options) { options.group.clear(); }},
      {"0 endpoints are given", [](auto& options) { options.endpoints.clear(); }},
      {"65 endpoints are given", [](auto& options) { options.endpoints.resize(65, "a:1"); }},
      {"endpoint \"a b\" is not an endpoint; write host:port, such as 10.0.0.7:7400 or [::1]:7400",
       [](auto& options) { options.endpoints.push_back("a b"); }},
      {"endpoint \"https://a:1\" is not an endpoint; write host:port, without https:// (TLS: set "
       "RouterOptions::group_credentials)",
       [](auto& options) { options.endpoints.push_back("https://a:1"); }},
      {"\"xds:///orders\" is not an endpoint; write host:port, without xds://",
       [](auto& options) { options.endpoints.push_back("xds:///orders"); }},
      {"\"dns:a b\" is not an endpoint", [](auto& options) { options.endpoints[0] = "dns:a b"; }},
      {"\"orders.example\" is not an endpoint",
       [](auto& options) { options.endpoints[0] = "orders.example"; }},
      {"client 'a\\nb\\u001b' is invalid", [](auto& options) { options.client = "a\nb\x1b"; }},
      {"client '" + std::string(64, 'c') + "...' is invalid",
       [](auto& options) { options.client = std::string(1'000, 'c'); }},
      {"silence is 9 ms; give 10 ms to 31622400000 ms (366 days)",
       [](auto& options) { options.silence = milliseconds(9); }},
      {"silence is 31622400001 ms",
       [](auto& options) { options.silence = milliseconds(31'622'400'001); }},
      {"silence is 9223372036854775807 ms",
       [](auto& options) { options.silence = milliseconds::max(); }},
      {"silence is -9223372036854775808 ms",
       [](auto& options) { options.silence = milliseconds::min(); }},
  };
  for (const auto& [said, spoil] : cases) {
    RouterOptions options = good;
    spoil(options);
    const auto started = Router::Start(options);
    ASSERT_FALSE(started.ok()) << said;
    EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(started.error().message, HasSubstr(said));
  }
}

// Plan: addresses that look like a host and a port, but that gRPC takes for URIs.
TEST(Router, RefusesEndpointsThatGrpcTakesForUris) {
  for (const char* endpoint : {"xds:7400", "google-c2p:7400", "google-c2p-experimental:7400",
                               "vsock:7400", "binder:7400"}) {
    const auto started = Router::Start({.group = "orders", .endpoints = {endpoint}});
    ASSERT_FALSE(started.ok()) << endpoint;
    EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(started.error().message, std::string("endpoint \"") + endpoint +
                                           "\" is a URI to gRPC, not a host; write the host's "
                                           "address, such as 10.0.0.7:7400");
  }
  EXPECT_TRUE(Router::Start({.group = "orders", .endpoints = {"xds.example:7400"}}).ok());
}

// Plan: timeouts whose sum with the time now would overflow. As nanoseconds, the first negative one
// wraps round to 146 years. None of the negative ones waits.
TEST(Router, TakesAnyTimeout) {
  ScriptedRoutes server;
  auto router = Follow({server.address()});
  constexpr milliseconds kWrapsRound(-13'835'058'055'282);
  for (const milliseconds timeout : {kWrapsRound, milliseconds::min(), milliseconds(-1)}) {
    EXPECT_EQ(router->WaitReady(timeout).error().code, ErrorCode::kTimedOut) << timeout.count();
    const grpc::Status called = router->CallWith(
        ShardId{0}, [](auto&, auto&) { return grpc::Status::OK; }, {.deadline = timeout});
    EXPECT_EQ(called.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << timeout.count();
  }
  ASSERT_TRUE(server.AwaitStreams(1));
  server.Greet(First({.shards = 4}, 20, {{0, "a", 10, 10}}));
  EXPECT_TRUE(router->WaitReady(milliseconds::max()).ok());
}

// Plan: ages whose sum in nanoseconds overflows, and nanoseconds beyond a second. The longest one
// counts as a year, and none is negative.
TEST(Router, TakesAnyAge) {
  struct {
    std::int64_t whole;
    std::int32_t nanos;
    seconds least;
  } const ages[] = {{9'300'000'000, 0, std::chrono::hours(24 * 365)},
                    {INT64_MAX, INT32_MAX, std::chrono::hours(24 * 365)},
                    {INT64_MIN, INT32_MIN, seconds{0}},
                    {5, -1, seconds(5)}};
  for (const auto& said : ages) {
    ScriptedRoutes server;
    auto router = Follow({server.address()});
    v1::WatchRoutesResponse first = First({.shards = 4}, 20, {{0, "a", 10, 10}});
    first.mutable_age()->set_seconds(said.whole);
    first.mutable_age()->set_nanos(said.nanos);
    server.Greet(first);
    ASSERT_TRUE(router->WaitReady(kPatience).ok());
    EXPECT_GE(router->Age().age, said.least) << said.whole;
    EXPECT_LT(router->Age().age, said.least + kPatience) << said.whole;
  }
}

TEST(Router, ReadsRoutesThenChanges) {
  ScriptedRoutes server;
  auto router = Follow({server.address()});
  ASSERT_TRUE(server.AwaitStreams(1));
  EXPECT_EQ(router->WaitReady(milliseconds(0)).error().code, ErrorCode::kTimedOut);
  EXPECT_EQ(router->ShardFor("key").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(router->Owner("key"), std::nullopt);
  EXPECT_TRUE(router->Age().stale);
  v1::WatchRoutesResponse first = First({.shards = 4}, 20, {{0, "a", 10, 10}, {1, "b", 11, 11}});
  first.mutable_age()->set_seconds(5);
  server.Greet(first);
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  EXPECT_EQ(router->Owner(ShardId{0}), (Route{ShardId{0}, ShardState::kLed, Term{10}, "a", "a:1"}));
  EXPECT_EQ(router->Owner(ShardId{2}), (Route{.shard = ShardId{2}}));
  EXPECT_EQ(router->Owner(ShardId{4}), (Route{.shard = ShardId{4}})) << "no such shard";
  const auto shard = router->ShardFor("order-4711");
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(router->Owner("order-4711"), router->Owner(shard.value()));
  EXPECT_EQ(router->Owner(""), std::nullopt);
  EXPECT_EQ(router->ShardFor(std::string(4097, 'k')).error().code, ErrorCode::kInvalidArgument);
  const RoutesAge age = router->Age();
  EXPECT_EQ(age.revision, Revision{20});
  EXPECT_GE(age.age, seconds(5));
  EXPECT_FALSE(age.stale);
  EXPECT_EQ(age.server, "n1");
  EXPECT_EQ(age.problem, "");

  server.Send(Delta(21, {{0, "c", 21, 21}}));
  EXPECT_TRUE(AwaitLeader(*router, 0, "c"));
  v1::WatchRoutesResponse stale = Delta(21);
  stale.set_stale(true);
  server.Send(stale);
  EXPECT_TRUE(Until([&] { return router->Age().stale; }));
  EXPECT_EQ(router->Owner(ShardId{0}).leader, "c") << "stale routes stay usable";
  router->Stop();
  EXPECT_EQ(router->Owner(ShardId{0}).leader, "c");
  EXPECT_EQ(router->WaitReady(milliseconds(0)).ok(), true) << "the last routes can be read";
}

// Plan: two servers, and the followed one goes away. The router resumes at the other one from its
// revision, and keeps its routes meanwhile.
// Plan: before routes are read there are no standbys; then those of the routes, by shard and by
// key. Their addresses are checked as leaders' are.
TEST(Router, KnowsWhoStandsBy) {
  ScriptedRoutes server;
  auto router = Follow({server.address()});
  const std::vector<RouteStandby> none;
  EXPECT_EQ(router->Standbys(ShardId{0}), none);
  EXPECT_EQ(router->Standbys("order-4711"), none);
  RouteOf route{.shard = 0, .leader = "a", .term = 10, .revision = 10};
  route.standbys = {{"b", true}, {"c"}};
  v1::WatchRoutesResponse first = First({.shards = 1}, 20, {route});
  first.mutable_nodes(1)->set_address("unix:/run/c.sock");
  server.Greet(first);
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  const std::vector<RouteStandby> both = {{"b", "b:1", true}, {"c", "", false}};
  EXPECT_EQ(router->Standbys(ShardId{0}), both);
  EXPECT_EQ(router->Standbys("order-4711"), both);
  EXPECT_EQ(router->Standbys(ShardId{1}), none) << "no such shard";
  EXPECT_EQ(router->Standbys(""), none) << "no key";
  EXPECT_EQ(router->Owner(ShardId{0}).leader, "a");
  server.Send(Delta(21, {{0, "b", 21, 21}}));
  EXPECT_TRUE(AwaitLeader(*router, 0, "b"));
  EXPECT_EQ(router->Standbys(ShardId{0}), none);
}

TEST(Router, ResumesAtAnotherEndpointWhenItsServerGoesAway) {
  ScriptedRoutes servers[2];
  for (ScriptedRoutes& server : servers) {
    server.Greet(First({.server = server.address()}, 20, {{0, "a", 10, 10}}));
  }
  auto router = Follow({servers[0].address(), servers[1].address()});
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  const bool first = router->Age().server == servers[0].address();
  ScriptedRoutes& followed = servers[first ? 0 : 1];
  ScriptedRoutes& other = servers[first ? 1 : 0];
  followed.Stop();
  ASSERT_TRUE(other.AwaitStreams(1));
  ASSERT_TRUE(Until([&] { return router->Age().server == other.address(); }));
  const v1::WatchRoutesRequest request = other.Requests().front();
  EXPECT_EQ(request.group(), "orders");
  EXPECT_EQ(request.after_revision(), 20);
  EXPECT_EQ(request.cluster(), 77u);
  EXPECT_EQ(router->Owner(ShardId{0}).leader, "a");
  const RouterCounters counters = router->counters();
  EXPECT_EQ(counters.snapshots, 1u);
  EXPECT_EQ(counters.resumes, 1u);
  EXPECT_GE(counters.reconnects, 1u);
}

// Plan: the first server sends nothing after its first message; the second one does. The router
// leaves the first.
TEST(Router, LeavesAServerThatIsSilent) {
  ScriptedRoutes silent, speaking;
  auto router = Follow({silent.address(), speaking.address()}, milliseconds(50));
  ASSERT_TRUE(silent.AwaitStreams(1)) << "left, if it came first, for one that is silent too";
  speaking.Greet(First({.server = "speaking"}, 20, {{0, "a", 10, 10}}));
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  // The second one is silent now, too, so the router leaves it and comes back to the first.
  const std::size_t before = silent.Requests().size();
  EXPECT_TRUE(silent.AwaitStreams(before + 1));
  EXPECT_TRUE(Until([&] { return router->counters().resumes >= 1; }));
}

// Plan: a server keeps sending, but reports that it is stale. Another server is current. The router
// switches to it.
TEST(Router, LeavesAServerThatStaysStaleForOneThatIsNot) {
  ScriptedRoutes stale, current;
  v1::WatchRoutesResponse greeting = First({.server = "stale"}, 20, {{0, "a", 10, 10}});
  greeting.set_stale(true);
  stale.Greet(greeting);
  current.Refuse(grpc::Status(grpc::StatusCode::UNAVAILABLE, "not yet"));
  auto router = Follow({stale.address(), current.address()}, milliseconds(300));
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  current.Greet(First({.server = "current"}, 20, {{0, "a", 10, 10}}));
  current.Refuse(std::nullopt);
  std::int64_t said = 20;
  EXPECT_TRUE(Until([&] {
    if (router->Age().revision >= Revision{said}) {
      v1::WatchRoutesResponse still = Delta(++said);
      still.set_stale(true);
      stale.Send(still);
    }
    return router->Age().server == "current";
  }));
}

TEST(Router, LeavesAServerThatAcceptsAndNeverAnswers) {
  ScriptedRoutes server;
  server.Greet(First({}, 20));
  ScriptedRoutes frozen;
  auto router = Follow({frozen.address(), server.address()}, milliseconds(100));
  EXPECT_TRUE(router->WaitReady(kPatience).ok());
  EXPECT_TRUE(frozen.AwaitStreams(1));
  EXPECT_TRUE(frozen.AwaitOpen(0));
}

TEST(Router, GoesOnAfterAStreamEndsAndAfterARefusalForTheMoment) {
  ScriptedRoutes server;
  server.Greet(First({}, 20, {{0, "a", 10, 10}}));
  server.Refuse(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watchers"));
  auto router = Follow({server.address()});
  ASSERT_TRUE(server.AwaitStreams(2));
  ASSERT_TRUE(Until([&] { return !router->Age().problem.empty(); }));
  EXPECT_THAT(router->Age().problem,
              AllOf(HasSubstr(server.address()), HasSubstr("too many watchers")));
  server.Refuse(std::nullopt);
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  EXPECT_EQ(router->Age().problem, "");
  server.Greet(First({}, 30, {{0, "b", 30, 30}}));
  server.Refuse(std::nullopt);
  EXPECT_TRUE(AwaitLeader(*router, 0, "b"));
}

TEST(Router, SaysInOneLineThatTheEndpointsAreOfAnotherGroup) {
  ScriptedRoutes server;
  server.Greet(First({.group = "users"}, 20));
  auto router = Follow({server.address()});
  const Status ready = router->WaitReady(kPatience);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(ready.error().message, "no endpoint serves this group's routes: " + server.address() +
                                       " serves group 'users', not 'orders': name endpoints of "
                                       "that group");
  // First a server without this group, then one that has it.
  server.Greet(First({}, 20));
  EXPECT_TRUE(Until([&] { return router->WaitReady(kPatience).ok(); }));
}

// Plan: servers whose texts have line ends and escape sequences, and are far too long: the name of
// another group, a status, and a server's name.
TEST(Router, ShowsServersTextsInOneShortLine) {
  const std::string raw = "a\n\x1b[31m" + std::string(3'000, 'x');
  const std::string shown = "a\\n\\u001b[31m";
  const auto is_line = [&](const std::string& text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\x1b'; });
  };
  ScriptedRoutes server;
  server.Greet(First({.group = raw}, 20));
  auto router = Follow({server.address()});
  const std::string other = router->WaitReady(kPatience).error().message;
  EXPECT_THAT(other, HasSubstr("serves group '" + shown));
  EXPECT_THAT(other, HasSubstr("...', not 'orders': name endpoints of that group"));
  EXPECT_TRUE(is_line(other)) << other;

  server.Refuse(grpc::Status(grpc::StatusCode::PERMISSION_DENIED, raw));
  ASSERT_TRUE(
      Until([&] { return router->Age().problem.find("PERMISSION_DENIED") != std::string::npos; }));
  const std::string problem = router->Age().problem;
  EXPECT_THAT(problem, HasSubstr(server.address() + " failed: PERMISSION_DENIED: " + shown));
  EXPECT_TRUE(is_line(problem)) << problem;
  EXPECT_LT(problem.size(), 1'100u);

  server.Greet(First({.server = raw}, 20));
  server.Refuse(std::nullopt);
  ASSERT_TRUE(Until([&] { return !router->Age().stale; }));
  const std::string name = router->Age().server;
  EXPECT_EQ(name, shown + std::string(128 - shown.size(), 'x') + "...");
}

// Plan: a false server sends 5 MiB of empty routes, which would be some 250 MB once they are
// parsed.
TEST(Router, ReadsNoMessageThatNoTrueServerSends) {
  ScriptedRoutes server;
  v1::WatchRoutesResponse message = First({}, 20);
  for (int i = 0; i < (5 << 20) / 2; ++i) message.add_routes();
  server.Greet(message);
  auto router = Follow({server.address()});
  ASSERT_TRUE(Until([&] { return !router->Age().problem.empty(); }));
  EXPECT_THAT(router->Age().problem, HasSubstr("RESOURCE_EXHAUSTED"));
}

TEST(Router, KeepsItsRoutesWhereAServerMapsKeysAnotherWay) {
  ScriptedRoutes server;
  server.Greet(First({}, 20, {{0, "a", 10, 10}}));
  auto router = Follow({server.address()});
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  server.Greet(First({.shards = 8, .cluster = 78, .anew = true}, 5));
  server.Refuse(std::nullopt);
  ASSERT_TRUE(Until([&] { return router->Age().problem.find("maps keys") != std::string::npos; }));
  EXPECT_TRUE(router->Age().stale);
  EXPECT_EQ(router->Owner(ShardId{0}).leader, "a");
}

TEST(Router, ForgetsTheRoutesOfAStoreThatWasReplaced) {
  ScriptedRoutes server;
  server.Greet(First({}, 900, {{0, "a", 800, 800}, {1, "a", 800, 800}}));
  auto router = Follow({server.address()});
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  server.Greet(First({.cluster = 78, .anew = true}, 9, {{0, "b", 8, 8}}));
  server.Refuse(std::nullopt);
  EXPECT_TRUE(AwaitLeader(*router, 0, "b"));
  EXPECT_EQ(router->Owner(ShardId{1}).leader, "");
}

// Plan: the router opens its stream again for new credentials, and finds that the store was
// replaced. The new snapshot is slow. Until its end, the routes are incomplete and stale.
TEST(Router, RoutesAreStaleUntilANewSnapshotEnds) {
  ScriptedRoutes server;
  server.Greet(First({}, 900, {{0, "a", 800, 800}}));
  auto router = Follow({server.address()});
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  ASSERT_FALSE(router->Age().stale);
  server.Greet(First({.cluster = 78, .anew = true, .ends = false}, 0, {{0, "b", 8, 8}}));
  router->SetCredentials(grpc::InsecureChannelCredentials());
  ASSERT_TRUE(Until([&] { return router->counters().snapshots == 2; }));
  ASSERT_EQ(router->WaitReady(milliseconds(0)).error().code, ErrorCode::kTimedOut);
  const RoutesAge age = router->Age();
  EXPECT_EQ(age.revision, Revision{});
  EXPECT_TRUE(age.stale);
  EXPECT_EQ(age.server, "n1");
  v1::WatchRoutesResponse last = Delta(9);
  last.set_snapshot_end(true);
  server.Send(last);
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  EXPECT_EQ(router->Age().revision, Revision{9});
  EXPECT_FALSE(router->Age().stale);
}

// Plan: a false server says that it is of the same store, and gives its own address as that of all
// leaders, with revisions that etcd does not have. Then an honest server is back at its port. Once
// its check has come, the router reads all routes of it, and follows their changes.
TEST(Router, AFalseServersRoutesEndWithTheNextServersCheck) {
  constexpr std::int64_t kFalse = std::int64_t{1} << 62;
  const std::vector<RouteOf> honest = {{0, "a", 10, 10}, {1, "b", 11, 11}};
  ScriptedRoutes server;
  server.Greet(First({.shards = 2}, 20, honest));
  auto router = Follow({server.address()});
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  server.Greet(First({.shards = 2}, kFalse, {{0, "evil", 10, kFalse}, {1, "evil", 11, kFalse}}));
  server.Refuse(std::nullopt);
  ASSERT_TRUE(AwaitLeader(*router, 0, "evil"));
  server.Greet(First({.shards = 2}, 20));
  server.Refuse(std::nullopt);
  ASSERT_TRUE(Until([&] { return router->counters().resumes == 2; }));
  EXPECT_EQ(router->Owner(ShardId{0}).leader, "evil") << "nothing has shown yet that it is false";
  server.Greet(First({.shards = 2}, 20, honest));
  server.Send(Check(20, honest));
  EXPECT_TRUE(AwaitLeader(*router, 0, "a"));
  EXPECT_EQ(server.Requests().back().after_revision(), 0);
  EXPECT_EQ(router->Age().revision, Revision{20});
  EXPECT_EQ(router->Age().problem, "");
  server.Send(Delta(21, {{1, "c", 21, 21}}));
  EXPECT_TRUE(AwaitLeader(*router, 1, "c"));
}

// Plan: two servers. The one that is followed first tells false routes, and goes away. The check of
// the other one differs. The router reads all routes of that one, which has proven them, and does
// not switch.
TEST(Router, ReadsAllRoutesOfTheServerWhoseCheckDiffers) {
  const std::vector<RouteOf> honest = {{0, "a", 10, 10}};
  ScriptedRoutes servers[2];
  for (ScriptedRoutes& server : servers) {
    server.Greet(First({.shards = 1, .server = server.address()}, 20, {{0, "evil", 10, 20}}));
  }
  auto router = Follow({servers[0].address(), servers[1].address()});
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  const bool first = router->Age().server == servers[0].address();
  ScriptedRoutes& evil = servers[first ? 0 : 1];
  ScriptedRoutes& other = servers[first ? 1 : 0];
  other.Greet(First({.shards = 1, .server = other.address()}, 20));
  evil.Refuse(std::nullopt);
  ASSERT_TRUE(Until([&] { return router->Age().server == other.address(); }));
  EXPECT_EQ(router->Owner(ShardId{0}).leader, "evil");
  other.Greet(First({.shards = 1, .server = other.address()}, 20, honest));
  other.Send(Check(20, honest));
  EXPECT_TRUE(AwaitLeader(*router, 0, "a"));
  EXPECT_EQ(router->Age().server, other.address());
  EXPECT_EQ(other.Requests().size(), 2u);
  EXPECT_EQ(other.Requests().back().after_revision(), 0);
  EXPECT_EQ(evil.Requests().size(), 1u);
}

TEST(Router, LivesBesideOthersInOneProgram) {
  ScriptedRoutes servers[3];
  std::vector<std::unique_ptr<Router>> routers;
  for (int i = 0; i < 3; ++i) {
    servers[i].Greet(First({}, 20, {{0, "leader" + std::to_string(i), 10, 10}}));
    routers.push_back(Follow({servers[i].address()}));
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(routers[i]->WaitReady(kPatience).ok());
    EXPECT_EQ(routers[i]->Owner(ShardId{0}).leader, "leader" + std::to_string(i));
  }
  routers.erase(routers.begin());
  EXPECT_EQ(routers[0]->Owner(ShardId{0}).leader, "leader1");
}

// Plan: two threads read while the leader changes. The router is destroyed right after they end.
TEST(Router, StopsWhileItsServerSpeaks) {
  for (int round = 0; round < 5; ++round) {
    ScriptedRoutes server;
    server.Greet(First({}, 20, {{0, "a", 10, 10}}));
    auto router = Follow({server.address()});
    ASSERT_TRUE(router->WaitReady(kPatience).ok());
    std::vector<std::thread> readers;
    std::atomic<bool> over{false};
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        Term last{};
        while (!over.load()) {
          const Route route = router->Owner(ShardId{0});
          EXPECT_GE(route.term, last);
          last = route.term;
        }
      });
    }
    for (int i = 0; i < 200; ++i) server.Send(Delta(21 + i, {{0, "a", 21 + i, 21 + i}}));
    if (round % 2 == 0) router->Stop();
    over.store(true);
    for (std::thread& reader : readers) reader.join();
    router.reset();
    EXPECT_TRUE(server.AwaitOpen(0));
  }
}

}  // namespace
}  // namespace baton::routing
