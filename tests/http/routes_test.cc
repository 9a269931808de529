// /v1/routes over real sockets: which requests are answered at once, and which wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/client.h"
#include "http/fake_control.h"
#include "http/server.h"
#include "routing/server/route_server.h"

namespace baton::http {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

/// A scrape that keeps its worker while a test holds `gate`.
class SlowScrape : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    ++begun;
    const std::lock_guard lock(gate);
    return {};
  }

  mutable std::mutex gate;
  mutable std::atomic<int> begun{0};
};

class RoutesTest : public testing::Test {
 protected:
  void SetUp() override {
    control_.ready = true;
    routes_ = routing::RouteServer::Start(control_);
    auto bound = HttpServer::Bind({.group = "orders", .address = "127.0.0.1:0"});
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    server_ = std::move(bound).value();
    server_->Serve(control_, {.node = {}, .shards = {scrape_}}, routes_);
  }
  void TearDown() override {
    server_.reset();
    routes_->Shutdown();
  }

  runtime::ViewRoute RouteOf(std::uint32_t shard, std::int64_t term) const {
    return {.shard = ShardId{shard},
            .leader = term == 0 ? nullptr : leader_,
            .term = Term{term},
            .state = term == 0 ? ShardState::kLeaderless : ShardState::kLed,
            .revision = Revision{term == 0 ? 10 : term}};
  }
  void Tell(std::vector<runtime::ViewRoute> routes, std::int64_t revision) {
    ASSERT_FALSE(control_.route_observers.empty());  // the route server was added first
    const TimePoint now = BootClock::now();
    control_.route_observers[0]->OnRoutes({.group = group_,
                                           .routes = std::move(routes),
                                           .revision = Revision{revision},
                                           .proven_at = now,
                                           .stale_after = seconds(3600)});
  }
  std::string Fetch(const std::string& target) { return Get(server_->port(), target); }
  static std::string Request(const std::string& target) {
    return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }

  FakeControl control_;
  const std::shared_ptr<SlowScrape> scrape_ = std::make_shared<SlowScrape>();
  const std::shared_ptr<runtime::RouteNode> leader_ =
      std::make_shared<runtime::RouteNode>(runtime::RouteNode{"n1", "127.0.0.1:7400"});
  const std::shared_ptr<runtime::RouteGroup> group_ = std::make_shared<runtime::RouteGroup>(
      runtime::RouteGroup{.group = "orders", .server = "n1", .shards = 2, .incarnation = 7});
  std::shared_ptr<routing::RouteServer> routes_;
  std::unique_ptr<HttpServer> server_;
};

// A poll waits for revisions, so it would never hear of their end.
TEST_F(RoutesTest, ShowsWhatOnlyTheLeaderKnowsAsLed) {
  for (const ShardState state : {ShardState::kActivating, ShardState::kSuspended}) {
    runtime::ViewRoute own = RouteOf(0, 11);
    own.state = state;
    Tell({own, RouteOf(1, 0)}, 12);
    // The server's thread may process the routes after the request.
    EXPECT_THAT(BodyOf(Fetch("/v1/routes?after=10&wait=60")), HasSubstr("\"state\":\"led\""));
  }
}

TEST_F(RoutesTest, ShowsAllRoutesAtOnce) {
  EXPECT_EQ(StatusOf(Fetch("/v1/routes")), 503);
  Tell({RouteOf(0, 11), RouteOf(1, 0)}, 12);
  const std::string response = Fetch("/v1/routes");
  EXPECT_EQ(StatusOf(response), 200);
  EXPECT_THAT(BodyOf(response), StartsWith("{\"group\":\"orders\",\"revision\":12,\"age_ms\":"));
  EXPECT_THAT(BodyOf(response),
              HasSubstr("\"stale\":false,\"routes\":[{\"shard\":0,\"leader\":\"n1\",\"address\":"
                        "\"127.0.0.1:7400\",\"term\":11,\"state\":\"led\",\"revision\":11},"
                        "{\"shard\":1,\"leader\":null,\"address\":null,\"term\":0,"
                        "\"state\":\"leaderless\",\"revision\":10}]}"));
}

TEST_F(RoutesTest, ShowsTheStandbysOfRoutesThatHaveSome) {
  runtime::ViewRoute route = RouteOf(0, 11);
  const auto n2 = std::make_shared<runtime::RouteNode>(runtime::RouteNode{"n2", ""});
  route.standbys = std::make_shared<const std::vector<runtime::ViewStandby>>(
      std::vector<runtime::ViewStandby>{{n2, true}, {route.leader, false}});
  Tell({route, RouteOf(1, 0)}, 12);
  // The server's thread may process the routes after the request.
  EXPECT_THAT(
      BodyOf(Fetch("/v1/routes?after=10&wait=60")),
      HasSubstr("\"revision\":11,\"standbys\":[{\"node\":\"n2\",\"address\":null,\"ready\":"
                "true},{\"node\":\"n1\",\"address\":\"127.0.0.1:7400\",\"ready\":false}]}"));
}

TEST_F(RoutesTest, AnswersAtOnceWithWhatChangedLater) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  const std::string body = BodyOf(Fetch("/v1/routes?after=11"));
  EXPECT_THAT(body, HasSubstr("\"shard\":1"));
  EXPECT_THAT(body, testing::Not(HasSubstr("\"shard\":0")));
}

// More polls wait than there are workers. They delay nothing else, and one change answers them all.
TEST_F(RoutesTest, PollsWaitForAChangeAndHoldNothingUp) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  std::vector<Client> polls;
  for (int i = 0; i < 10 * kWorkers; ++i) {
    polls.emplace_back(server_->port());
    polls.back().Send(Request("/v1/routes?after=12&wait=60"));
  }
  EXPECT_EQ(StatusOf(Fetch("/v1/routes")), 200);
  for (const Client& poll : polls) EXPECT_FALSE(poll.Readable());
  // Polls that have not been processed yet find the change.
  Tell({RouteOf(1, 13)}, 13);
  for (Client& poll : polls) {
    const std::string body = BodyOf(poll.Receive());
    EXPECT_THAT(body, HasSubstr("\"revision\":13"));
    EXPECT_THAT(body, HasSubstr("\"term\":13"));
  }
}

TEST_F(RoutesTest, APollWithoutAChangeEndsEmptyWithTheRevision) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  const std::string body = BodyOf(Fetch("/v1/routes?after=12&wait=0"));
  EXPECT_THAT(body, HasSubstr("\"revision\":12"));
  EXPECT_THAT(body, HasSubstr("\"routes\":[]"));
}

TEST_F(RoutesTest, RefusesPollsBeyondItsBound) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  std::vector<Client> polls;
  for (std::size_t i = 0; i < kMaxPolls; ++i) {
    polls.emplace_back(server_->port());
    polls.back().Send(Request("/v1/routes?after=12&wait=60"));
  }
  // One thread serves the sockets, but in any order: repeat until one more is refused.
  std::string refused;
  for (int tries = 0; tries < 100 && StatusOf(refused) != 503; ++tries) {
    refused = Fetch("/v1/routes?after=12&wait=0");
  }
  EXPECT_EQ(StatusOf(refused), 503);
  EXPECT_THAT(BodyOf(refused), HasSubstr("try again later"));
  EXPECT_GE(server_->bounds().polls, 1u);
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
}

// Plan: as many polls as allowed, half of them closed, half reset. Their places, here and at the
// route server, are free long before the polls' time is over.
TEST_F(RoutesTest, APollWhoseClientHasGoneFreesItsPlace) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  std::vector<Client> polls;
  for (std::size_t i = 0; i < kMaxPolls; ++i) {
    polls.emplace_back(server_->port());
    polls.back().Send(Request("/v1/routes?after=12&wait=60"));
  }
  const TimePoint until = BootClock::now() + seconds(30);
  while (routes_->counts().questions < kMaxPolls && BootClock::now() < until) {
    std::this_thread::yield();
  }
  for (std::size_t i = 0; i < kMaxPolls; i += 2) polls[i].Reset();
  polls.clear();
  while (routes_->counts().questions > 0 && BootClock::now() < until) std::this_thread::yield();
  EXPECT_EQ(routes_->counts().questions, 0u);
  EXPECT_EQ(StatusOf(Fetch("/v1/routes?after=12&wait=0")), 200);
  EXPECT_EQ(server_->bounds().polls, 0u);
}

// Plan: a second request comes while the first one waits. Both are answered, in order.
TEST_F(RoutesTest, AClientThatHasSentItsNextRequestIsNotGone) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  Client poll(server_->port());
  poll.Send(Request("/v1/routes?after=12&wait=60"));
  poll.Send(Request("/livez"));
  EXPECT_EQ(StatusOf(Fetch("/v1/routes")), 200);
  Tell({RouteOf(1, 13)}, 13);
  EXPECT_THAT(BodyOf(poll.Receive()), HasSubstr("\"term\":13"));
  EXPECT_EQ(BodyOf(poll.Receive()), "ok\n");
}

TEST_F(RoutesTest, RefusesWordsThatAreNoNumbers) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  for (const char* target :
       {"/v1/routes?after=", "/v1/routes?after=-1", "/v1/routes?after=1x", "/v1/routes?wait=3",
        "/v1/routes?after=1&wait=61", "/v1/routes?after=1&wait=1.5",
        "/v1/routes?after=99999999999999999999"}) {
    const std::string response = Fetch(target);
    EXPECT_EQ(StatusOf(response), 400) << target;
    EXPECT_THAT(BodyOf(response), HasSubstr("expected")) << target;
  }
}

TEST_F(RoutesTest, EndsWithPollsThatWait) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  Client poll(server_->port());
  poll.Send(Request("/v1/routes?after=12&wait=60"));
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
  server_.reset();
  bool closed = false;
  poll.ReceiveAll(&closed);
  EXPECT_TRUE(closed);
}

TEST_F(RoutesTest, AViewThatEndsAnswersItsPolls) {
  Tell({RouteOf(0, 11), RouteOf(1, 12)}, 12);
  Client poll(server_->port());
  poll.Send(Request("/v1/routes?after=12&wait=60"));
  EXPECT_EQ(StatusOf(Fetch("/v1/routes")), 200);
  control_.route_observers[0]->OnRoutesEnded(
      {ErrorCode::kUnavailable, "the node has stopped; ask another"});
  EXPECT_EQ(StatusOf(poll.Receive()), 503);
}

/// Many shards, each with a leader. So the references to the leader's name count the routes in
/// memory: those of the route server's table, and those of all lists.
class RouteListsTest : public RoutesTest {
 protected:
  void TellFirst(std::uint32_t shards, std::int64_t revision) {
    std::vector<runtime::ViewRoute> routes;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      routes.push_back(RouteOf(shard, revision));
    }
    Tell(std::move(routes), revision);
  }
  /// Begins the group. Then its routes are in the table, and nowhere else.
  void Fill(std::uint32_t shards, std::int64_t revision) {
    group_->shards = shards;
    TellFirst(shards, revision);
    EXPECT_EQ(RoutesIn(Fetch("/v1/routes")), shards);
    while (Lists() > 0) std::this_thread::yield();
  }
  /// How many whole lists are in memory, the table not counted.
  std::size_t Lists() const {
    return static_cast<std::size_t>(leader_.use_count()) / group_->shards - 1;
  }
  /// Until the gate is free, nothing is rendered.
  void KeepWorkersBusy() {
    for (int i = 0; i < kWorkers; ++i) {
      scrapes_.emplace_back(server_->port());
      scrapes_.back().Send(Request("/metrics/shards"));
    }
    while (scrape_->begun < kWorkers) std::this_thread::yield();
  }
  Client Ask(const std::string& target) {
    Client client(server_->port());
    client.Send(Request(target));
    return client;
  }
  /// Waits until the route server has looked for the answer, or the client has one.
  void AwaitLook(const Client& client, std::uint64_t looked_at) const {
    while (LookedAt() == looked_at && !client.Readable()) std::this_thread::yield();
  }
  std::uint64_t LookedAt() const { return routes_->counts().hub.looked_at; }
  static std::size_t RoutesIn(const std::string& response) {
    std::size_t count = 0;
    const std::string_view word = "{\"shard\":";
    for (auto at = response.find(word); at != std::string::npos; at = response.find(word, at + 1)) {
      ++count;
    }
    return count;
  }

  std::vector<Client> scrapes_;
};

// Plan: nothing is rendered, while one client after another asks for all routes as changes after
// revision 0, and leaves once the route server has looked. Each left a whole list behind, and a
// thousand a second made a node grow until the kernel killed it.
TEST_F(RouteListsTest, PollsThatLeaveAtOnceLeaveNoListsBehind) {
  Fill(20'000, 12);
  {
    const std::lock_guard busy(scrape_->gate);
    KeepWorkersBusy();
    for (int i = 0; i < 2'000; ++i) {
      const std::uint64_t looked_at = LookedAt();
      const Client poll = Ask("/v1/routes?after=0");
      AwaitLook(poll, looked_at);
      ASSERT_LE(Lists(), kMaxLists) << "after " << i << " polls";
    }
  }
  EXPECT_EQ(StatusOf(Fetch("/metrics")), 200);
  while (Lists() > 0) std::this_thread::yield();
  EXPECT_EQ(RoutesIn(Fetch("/v1/routes")), 20'000u);
}

// Plan: as many lists as allowed are under way, and nothing is rendered. A request that does not
// wait is refused. A poll with a long answer waits for its turn; one with a short answer needs
// none.
TEST_F(RouteListsTest, AnAnswerIsAListByItsLength) {
  Fill(20'000, 12);
  TellFirst(kShortList + 1, 13);
  TellFirst(kShortList, 14);
  std::vector<Client> polls;
  {
    const std::lock_guard busy(scrape_->gate);
    KeepWorkersBusy();
    for (std::size_t i = 0; i < kMaxLists; ++i) polls.push_back(Ask("/v1/routes?after=0"));
    while (Lists() < kMaxLists) std::this_thread::yield();
    for (const char* target :
         {"/v1/routes", "/v1/routes?after=0&wait=0", "/v1/routes?after=12&wait=0"}) {
      const std::string refused = Fetch(target);
      EXPECT_EQ(StatusOf(refused), 503) << target;
      EXPECT_EQ(HeaderOf(refused, "Retry-After"), "5") << target;
    }
    EXPECT_EQ(server_->bounds().bytes, 3u);
    const std::uint64_t looked_at = LookedAt();
    polls.push_back(Ask("/v1/routes?after=0"));
    AwaitLook(polls.back(), looked_at);
    EXPECT_EQ(Lists(), kMaxLists);
    polls.push_back(Ask("/v1/routes?after=13"));
  }
  EXPECT_EQ(RoutesIn(polls.back().Receive()), kShortList);
  polls.pop_back();
  for (Client& poll : polls) EXPECT_EQ(RoutesIn(poll.Receive()), 20'000u);
}

// Plan: all routes change while as many polls wait as allowed. All get the whole list, some later.
TEST_F(RouteListsTest, AChangeOfAllRoutesReachesAllPolls) {
  Fill(2'000, 12);
  std::vector<Client> polls;
  {
    const std::lock_guard busy(scrape_->gate);
    KeepWorkersBusy();
    while (polls.size() < kMaxPolls) polls.push_back(Ask("/v1/routes?after=12&wait=60"));
    while (routes_->counts().questions < kMaxPolls) std::this_thread::yield();
    TellFirst(2'000, 13);
    while (routes_->counts().questions > 0 || Lists() < kMaxLists) std::this_thread::yield();
    EXPECT_EQ(Lists(), kMaxLists);
  }
  for (Client& poll : polls) {
    const std::string answer = poll.Receive();
    EXPECT_EQ(RoutesIn(answer), 2'000u);
    EXPECT_THAT(answer, HasSubstr("\"revision\":13"));
  }
  EXPECT_EQ(server_->bounds().bytes, 0u);
}

}  // namespace
}  // namespace baton::http
