// A router's connections to leaders: which channels are kept, and for how long.
#include <gtest/gtest.h>

#include <string>

#include "baton/router.h"
#include "routing/client/channel_cache.h"
#include "routing/leader_address.h"
#include "routing/scripted_routes.h"
#include "runtime/silent_relay.h"

namespace baton::routing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Plan: the leader's host goes silent, so the connection is dead and nobody says so. A new one
// would work, because the leader is back. Calls must not wait until the kernel gives the old one
// up.
TEST(LeaderChannels, AreLeftIfNobodyAnswers) {
  ScriptedRoutes leader, routes;
  ASSERT_TRUE(leader.serves() && routes.serves());
  leader.Handle([](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse*) {
    return grpc::Status::OK;
  });
  const std::string address = leader.address();
  runtime::SilentRelay relay(
      static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  routes.Greet(
      First({.shards = 4}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, relay.endpoint()}}));
  const auto router =
      Router::Start({.group = "orders", .endpoints = {routes.address()}, .silence = seconds(60)});
  ASSERT_TRUE(router.ok() && (*router)->WaitReady(kPatience).ok());
  const auto call = [&](Duration deadline) {
    v1::LookupResponse response;
    return (*router)
        ->Call(ShardId{0}, &v1::RoutingService::Stub::Lookup, v1::LookupRequest(), &response,
               {.deadline = std::chrono::duration_cast<milliseconds>(deadline)})
        .error_code();
  };
  ASSERT_EQ(call(kPatience), grpc::StatusCode::OK);
  relay.FallSilent();
  EXPECT_EQ(call(milliseconds(100)), grpc::StatusCode::DEADLINE_EXCEEDED);
  relay.RelayAnother();
  EXPECT_TRUE(Until([&] { return call(milliseconds(200)) == grpc::StatusCode::OK; }));
}

// Plan: localhost in each form that an endpoint or a leader's address can have, and then what must
// stay as it is. Any user of the host may listen at [::1]:7400 while the server is at 127.0.0.1.
TEST(LeaderChannels, ToLocalhostGoToAnIPv4Address) {
  for (const std::string target :
       {"localhost:7400", "dns:localhost:7400", "dns:/localhost:7400", "dns:///localhost:7400"}) {
    const NamedTarget to = NamedTargetOf(target);
    EXPECT_EQ(to.target, "dns:///127.0.0.1:7400") << target;
    EXPECT_EQ(to.authority, "localhost:7400") << target;
  }
  for (const std::string target :
       {"dns:///localhost.example:7400", "dns:///[::1]:7400", "dns:///[fe80::1%251]:7400",
        "dns://10.0.0.9/localhost:7400", "10.0.0.7:7400", "unix:/run/localhost:7400",
        "ipv6:[::1]:7400"}) {
    const NamedTarget to = NamedTargetOf(target);
    EXPECT_EQ(to.target, target);
    EXPECT_EQ(to.authority, "") << target;
  }
}

// Plan: a leader answers some calls late, and others in time: its connection stays.
TEST(ChannelCache, DropsOnlyWhatGivesNoAnswers) {
  ChannelCache cache(grpc::InsecureChannelCredentials());
  const TimePoint made = BootClock::now();
  const auto channel = cache.Get("127.0.0.1:1", made);
  const auto end = [&](Duration begun, Duration ended) {
    cache.Unanswered("127.0.0.1:1", channel.get(), made + begun, made + ended,
                     ChannelCache::Lack::kAnswer);
    return cache.Get("127.0.0.1:1", made + ended) != channel;
  };
  EXPECT_FALSE(end(milliseconds(100), milliseconds(900))) << "the channel is young";
  cache.Answered("127.0.0.1:1", channel.get(), made + milliseconds(1500));
  EXPECT_FALSE(end(milliseconds(1400), milliseconds(1600))) << "another attempt had an answer";
  cache.Unanswered("127.0.0.1:1", nullptr, made + seconds(2), made + seconds(3),
                   ChannelCache::Lack::kAnswer);
  EXPECT_EQ(cache.Get("127.0.0.1:1", made + seconds(3)), channel);
  EXPECT_TRUE(end(milliseconds(1600), milliseconds(1700)));
}

// Plan: calls to a leader always end by their deadlines, as long polls may. The router connects to
// it once more after a second, after two further ones, four, and so on, up to about a minute. An
// answer makes it watchful again, and a leader without a connection is no reason to wait.
TEST(ChannelCache, ConnectsMoreAndMoreRarelyToALeaderThatNeverAnswers) {
  ChannelCache cache(grpc::InsecureChannelCredentials());
  TimePoint now = BootClock::now();
  auto channel = cache.Get("127.0.0.1:1", now);
  // How long it takes until a channel is dropped.
  const auto kept = [&](ChannelCache::Lack lack) {
    const TimePoint made = now;
    while (cache.Get("127.0.0.1:1", now) == channel) {
      now += milliseconds(500);
      cache.Unanswered("127.0.0.1:1", channel.get(), now, now, lack);
    }
    channel = cache.Get("127.0.0.1:1", now);
    return now - made;
  };
  for (const int bound : {1, 2, 4, 8, 16, 32, 64, 64})
    EXPECT_EQ(kept(ChannelCache::Lack::kAnswer), seconds(bound));
  cache.Answered("127.0.0.1:1", channel.get(), now);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(kept(ChannelCache::Lack::kConnection), seconds(1));
  EXPECT_EQ(cache.size(), 1u);
}

}  // namespace
}  // namespace baton::routing
