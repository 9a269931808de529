// One address has a share of the places for feeds and polls. In a network of one host, browsers and
// several addresses of loopback stand for the clients that the share is for.
#include "http/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
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

using testing::HasSubstr;
using testing::StartsWith;

// Plan: addresses of this host and others; requests by programs, and by browsers that say
// Sec-Fetch-Site or only Origin.
TEST(CountedPeer, IsUnsetForProgramsOfThisHostOnly) {
  const auto counted = [](const std::string& address, const Caller& caller) {
    const auto peer = CountedPeer(boost::asio::ip::make_address(address), caller);
    return peer ? peer->to_string() : "none";
  };
  const Caller program;
  const Caller tab{.fetch_site = "same-origin"};
  const Caller old_browser{.origin = "http://localhost:7401"};
  for (const char* local : {"127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_EQ(counted(local, program), "none") << local;
  }
  EXPECT_EQ(counted("127.0.0.1", tab), "127.0.0.1");
  EXPECT_EQ(counted("::ffff:127.0.0.1", tab), "127.0.0.1");
  EXPECT_EQ(counted("::1", old_browser), "::1");
  for (const Caller& caller : {program, tab, old_browser}) {
    EXPECT_EQ(counted("10.0.0.5", caller), "10.0.0.5");
    EXPECT_EQ(counted("::ffff:10.0.0.5", caller), "10.0.0.5");
    EXPECT_EQ(counted("2001:db8:0:7::5", caller), "2001:db8:0:7::");
    EXPECT_EQ(counted("2001:db8:0:7:8::9", caller), "2001:db8:0:7::");  // the same network
  }
}

constexpr const char* kTab = "Sec-Fetch-Site: same-origin\r\n";

class PeerTest : public testing::Test {
 protected:
  void SetUp() override {
    control_.ready = true;
    routes_ = routing::RouteServer::Start(control_);
    auto bound = HttpServer::Bind({.group = "orders", .address = "127.0.0.1:0"});
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    server_ = std::move(bound).value();
    server_->Serve(control_, {}, routes_);
    control_.route_observers.at(0)->OnRoutes({.group = group_,
                                              .routes = {{.shard = ShardId{0},
                                                          .leader = nullptr,
                                                          .term = Term{},
                                                          .state = ShardState::kLeaderless,
                                                          .revision = Revision{10}}},
                                              .revision = Revision{12},
                                              .proven_at = BootClock::now(),
                                              .stale_after = std::chrono::seconds(3600)});
  }
  void TearDown() override {
    server_.reset();
    routes_->Shutdown();
  }

  Client Ask(const char* from, const std::string& target, const std::string& fields) {
    Client client(server_->port(), from);
    client.Send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
    return client;
  }
  Client Follow(const char* from, const std::string& fields) {
    return Ask(from, "/v1/events", "Accept: text/event-stream\r\n" + fields);
  }
  Client Poll(const char* from, const std::string& fields) {
    return Ask(from, "/v1/routes?after=12&wait=60", fields);
  }
  bool PollsWait(std::size_t count) {
    const TimePoint until = BootClock::now() + std::chrono::seconds(30);
    while (routes_->counts().questions != count && BootClock::now() < until) {
      std::this_thread::yield();
    }
    return routes_->counts().questions == count;
  }

  FakeControl control_;
  const std::shared_ptr<runtime::RouteGroup> group_ = std::make_shared<runtime::RouteGroup>(
      runtime::RouteGroup{.group = "orders", .server = "n1", .shards = 1, .incarnation = 7});
  std::shared_ptr<routing::RouteServer> routes_;
  std::unique_ptr<HttpServer> server_;
};

// Plan: the tabs of a browser hold the feeds of their address. One more is refused, with a time for
// its retry, and counted. Another address and a program of this host get theirs. When a tab goes,
// its address has room again.
TEST_F(PeerTest, HoldsAShareOfTheFeeds) {
  std::vector<Client> tabs;
  for (std::size_t i = 0; i < kMaxFeedsOfPeer; ++i) {
    tabs.push_back(Follow("127.0.0.1", kTab));
    ASSERT_THAT(tabs.back().Receive(true), StartsWith("HTTP/1.1 200"));
  }
  const std::string refused = Follow("127.0.0.1", kTab).Receive();
  EXPECT_EQ(StatusOf(refused), 503);
  EXPECT_EQ(HeaderOf(refused, "Retry-After"), "5");
  EXPECT_THAT(BodyOf(refused), HasSubstr("at your address"));
  EXPECT_EQ(server_->bounds().peers, 1u);
  EXPECT_THAT(BodyOf(Get(server_->port(), "/metrics")), HasSubstr("bound=\"peer\"} 1\n"));
  Client elsewhere = Follow("127.0.0.2", kTab), program = Follow("127.0.0.1", "");
  EXPECT_THAT(elsewhere.Receive(true), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(program.Receive(true), StartsWith("HTTP/1.1 200"));
  tabs.pop_back();
  std::string head;
  for (int i = 0; i < 1'000 && !head.starts_with("HTTP/1.1 200"); ++i) {
    head = Follow("127.0.0.1", kTab).Receive(true);
  }
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
}

// Plan: the same with polls.
TEST_F(PeerTest, HoldsAShareOfThePolls) {
  std::vector<Client> polls;
  for (std::size_t i = 0; i < kMaxPollsOfPeer; ++i) polls.push_back(Poll("127.0.0.1", kTab));
  ASSERT_TRUE(PollsWait(kMaxPollsOfPeer));
  const std::string refused = Poll("127.0.0.1", kTab).Receive();
  EXPECT_EQ(StatusOf(refused), 503);
  EXPECT_EQ(HeaderOf(refused, "Retry-After"), "5");
  EXPECT_THAT(BodyOf(refused), HasSubstr("of your address"));
  EXPECT_EQ(server_->bounds().peers, 1u);
  const Client elsewhere = Poll("127.0.0.2", kTab), program = Poll("127.0.0.1", "");
  EXPECT_TRUE(PollsWait(kMaxPollsOfPeer + 2));
  polls.pop_back();
  ASSERT_TRUE(PollsWait(kMaxPollsOfPeer + 1));
  polls.push_back(Poll("127.0.0.1", kTab));
  EXPECT_TRUE(PollsWait(kMaxPollsOfPeer + 2));
  EXPECT_EQ(server_->bounds().peers, 1u);
}

// Many programs of one host, of a relay beside them for example, may follow the routes at once.
TEST_F(PeerTest, OfProgramsOnThisHostIsNoBound) {
  std::vector<Client> polls;
  for (std::size_t i = 0; i < kMaxPolls; ++i) polls.push_back(Poll("127.0.0.1", ""));
  EXPECT_TRUE(PollsWait(kMaxPolls));
  EXPECT_EQ(server_->bounds().peers, 0u);
}

}  // namespace
}  // namespace baton::http
