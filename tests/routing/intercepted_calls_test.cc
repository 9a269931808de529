// Calls that a router's callers make themselves, against real gRPC servers: what the router's
// interceptor adds to them, what it counts, and which calls it leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.h"
#include "baton/owner_guard.h"
#include "baton/router.h"
#include "routing/call_forms.h"
#include "routing/client/intercepted_calls.h"
#include "routing/client/route_store.h"
#include "routing/refusals.h"
#include "routing/scripted_routes.h"

namespace baton::routing {
namespace {

using grpc::StatusCode;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string IdOf(const SaidMetadata& said) {
  const auto found = said.find("baton-request-id");
  return found == said.end() ? "none" : found->second;
}

class InterceptedCallsTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kShards = 4;

  void SetUp() override {
    ASSERT_TRUE(routes_.serves());
    ASSERT_TRUE(server_.serves());
    Answer(grpc::Status::OK);
  }

  /// Sets the server's answer to every call and stream.
  void Answer(const grpc::Status& status) {
    server_.Handle([this, status](grpc::ServerContext& context, const auto&, auto*) {
      const std::lock_guard lock(mutex_);
      said_.push_back(SaidIn(context));
      return status;
    });
    server_.Refuse(status);
  }
  /// A router that has read shard 0's leader, which is the server.
  std::unique_ptr<Router> Start() {
    routes_.Greet(First({.shards = kShards}, 10, {RouteTo(10)}));
    auto router = StartOnly();
    EXPECT_TRUE(router->WaitReady(kPatience).ok());
    return router;
  }
  std::unique_ptr<Router> StartOnly() {
    auto started = Router::Start({.group = "orders",
                                  .endpoints = {routes_.address()},
                                  .client = "shop",
                                  .silence = seconds(60)});
    EXPECT_TRUE(started.ok());
    return std::move(started).value();
  }
  RouteOf RouteTo(std::int64_t term) const {
    return {0, "a", term, term, v1::Route::STATE_LED, server_.address()};
  }
  Channel ChannelTo(const Router& router) const { return ChannelOf(router, server_.address()); }

  /// The metadata that the server read from the last call.
  SaidMetadata LastSaid(bool is_stream = false) {
    if (is_stream) return server_.LastStreamSaid();
    const std::lock_guard lock(mutex_);
    return said_.empty() ? SaidMetadata() : said_.back();
  }
  /// Makes a call with these metadata, and returns the metadata that the server read.
  SaidMetadata Said(const Channel& channel, const SaidMetadata& metadata) {
    grpc::ClientContext context;
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    answer_ = Blocking(channel, context);
    return LastSaid();
  }
  /// The same without the request's id, which is random.
  static SaidMetadata WithoutId(SaidMetadata said) {
    said.erase("baton-request-id");
    return said;
  }

  std::mutex mutex_;
  std::vector<SaidMetadata> said_;  // one entry for each call; guarded by mutex_
  grpc::Status answer_;
  ScriptedRoutes routes_, server_;
};

const SaidMetadata kWhole = {
    {"baton-group", "orders"}, {"baton-shard", "0"}, {"baton-term", "10"}, {"baton-attempt", "1"}};

TEST_F(InterceptedCallsTest, SayWhatTheyAreForInEveryForm) {
  auto router = Start();
  const Channel channel = ChannelTo(*router);
  std::set<std::string> ids;
  for (const auto& [name, call, is_stream] : kForms) {
    grpc::ClientContext context;
    const Result<Route> route = router->Mark(context, ShardId{0});
    ASSERT_TRUE(route.ok());
    EXPECT_EQ(route.value(),
              (Route{ShardId{0}, ShardState::kLed, Term{10}, "a", server_.address()}));
    EXPECT_TRUE(call(channel, context).ok()) << name;
    EXPECT_EQ(WithoutId(LastSaid(is_stream)), kWhole) << name;
    ids.insert(IdOf(LastSaid(is_stream)));
    EXPECT_THAT(IdOf(LastSaid(is_stream)), StartsWith("shop-")) << name;
    EXPECT_EQ(router->counters().intercepted_calls, ids.size()) << name << ": each call has an id";
  }
  EXPECT_EQ(router->counters().intercepted_misroutes, 0u);
}

// Plan: bidirectional streams, answered and refused, whose metadata are sent at once or with the
// first message.
TEST_F(InterceptedCallsTest, MayBeConversations) {
  auto router = Start();
  ConversationServer server;
  const Channel channel = server.ChannelTo(*router);
  const std::pair<const char*, Form> forms[] = {{"blocking", Conversation},
                                                {"callback", CallbackConversation}};
  const grpc::Status refusal = NotLeaderStatus({ShardId{0}, "b", "b:1", Term{20}, "orders"});
  std::set<std::string> ids;
  std::uint64_t misroutes = 0;
  for (const bool corked : {false, true}) {
    for (const auto& [name, converse] : forms) {
      for (const grpc::Status& status : {grpc::Status::OK, refusal}) {
        SCOPED_TRACE(std::string(name) + (corked ? ", corked" : "") +
                     (status.ok() ? "" : ", refused"));
        server.Answer(status);
        grpc::ClientContext context;
        context.set_initial_metadata_corked(corked);
        ASSERT_TRUE(router->Mark(context, ShardId{0}).ok());
        const grpc::Status answer = converse(channel, context);
        EXPECT_EQ(answer.error_code(), status.error_code()) << answer.error_message();
        EXPECT_EQ(answer.error_details(), status.error_details());
        EXPECT_EQ(WithoutId(server.LastSaid()), kWhole);
        ids.insert(IdOf(server.LastSaid()));
        if (!status.ok()) ++misroutes;
        EXPECT_EQ(router->counters().intercepted_calls, ids.size())
            << "each has an id, and counts once";
        EXPECT_EQ(router->counters().intercepted_misroutes, misroutes);
      }
    }
  }
}

// Plan: nothing of the stream was sent, so it does not count as a call.
TEST_F(InterceptedCallsTest, MayBeGivenUpBeforeTheirFirstMessage) {
  auto router = Start();
  ConversationServer server;
  grpc::ClientContext context;
  context.set_initial_metadata_corked(true);
  ASSERT_TRUE(router->Mark(context, ShardId{0}).ok());
  const auto stub = v1::SidecarService::NewStub(server.ChannelTo(*router));
  const auto stream = stub->Attach(&context);
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(router->counters().intercepted_calls, 0u);
  EXPECT_EQ(router->counters().intercepted_misroutes, 0u);
  EXPECT_EQ(server.LastSaid(), SaidMetadata());
}

// Plan: on a channel without the interceptor, to see what Mark adds alone. It also adds the group,
// so that an interceptor of another group's router leaves the call alone.
TEST_F(InterceptedCallsTest, AreMarkedByKey) {
  auto router = Start();
  const Channel channel =
      grpc::CreateChannel(server_.address(), grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  const Result<Route> route = router->Mark(context, "order-4711");
  ASSERT_TRUE(route.ok());
  EXPECT_EQ(route.value(), *router->Owner("order-4711"));
  EXPECT_TRUE(Blocking(channel, context).ok());
  const std::uint32_t shard = router->ShardFor("order-4711").value().value;
  EXPECT_EQ(LastSaid(),
            (SaidMetadata{{"baton-group", "orders"}, {"baton-shard", std::to_string(shard)}}));
}

// Plan: Mark refuses the target and leaves the context unchanged, so the server reads no metadata.
TEST_F(InterceptedCallsTest, AreNotMarkedWithWhatIsOff) {
  auto router = Start();
  grpc::ClientContext context;
  const std::pair<const char*, CallTarget> cases[] = {
      {"the key is empty", ""}, {"no shard 4: group orders has shards 0 to 3", ShardId{kShards}}};
  for (const auto& [said, target] : cases) {
    const Result<Route> route = router->Mark(context, target);
    ASSERT_FALSE(route.ok()) << said;
    EXPECT_EQ(route.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(route.error().message, HasSubstr(said));
  }
  EXPECT_TRUE(Blocking(ChannelTo(*router), context).ok());
  EXPECT_EQ(LastSaid(), SaidMetadata());
  EXPECT_EQ(router->counters().intercepted_calls, 0u);
}

// Plan: nothing was read yet; then shard 0 has a leader; then it has a newer term.
TEST_F(InterceptedCallsTest, SayTheNewestTermThatIsKnown) {
  auto router = StartOnly();
  const Channel channel = ChannelTo(*router);
  grpc::ClientContext context;
  EXPECT_EQ(router->Mark(context, ShardId{0}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(
      WithoutId(Said(channel, {{"baton-shard", "0"}})),
      (SaidMetadata{{"baton-group", "orders"}, {"baton-shard", "0"}, {"baton-attempt", "1"}}));
  routes_.Greet(First({.shards = kShards}, 10, {RouteTo(10)}));
  ASSERT_TRUE(router->WaitReady(kPatience).ok());
  EXPECT_EQ(WithoutId(Said(channel, {{"baton-shard", "0"}})), kWhole);
  EXPECT_EQ(
      WithoutId(Said(channel, {{"baton-shard", "1"}})),
      (SaidMetadata{{"baton-group", "orders"}, {"baton-shard", "1"}, {"baton-attempt", "1"}}));
  routes_.Send(Delta(20, {RouteTo(20)}));
  ASSERT_TRUE(Until([&] { return router->Owner(ShardId{0}).term == Term{20}; }));
  SaidMetadata later = kWhole;
  later.find("baton-term")->second = "20";
  EXPECT_EQ(WithoutId(Said(channel, {{"baton-shard", "0"}})), later);
  EXPECT_EQ(router->counters().intercepted_calls, 4u);
}

TEST_F(InterceptedCallsTest, KeepWhatTheirCallerSays) {
  auto router = Start();
  const SaidMetadata said = {{"baton-group", "orders"},
                             {"baton-shard", "0"},
                             {"baton-term", "7"},
                             {"baton-request-id", "mine"},
                             {"baton-attempt", "3"}};
  EXPECT_EQ(Said(ChannelTo(*router), said), said);
  EXPECT_EQ(router->counters().intercepted_calls, 1u);
}

// Plan: calls that name no shard of the group, or have metadata that no server accepts, are
// answered with NOT_LEADER. Nothing is added, and nothing is counted.
TEST_F(InterceptedCallsTest, AreLeftAloneWhereTheyNameNoShardOfTheGroup) {
  auto router = Start();
  const Channel channel = ChannelTo(*router);
  const SaidMetadata cases[] = {
      {},
      {{"baton-request-id", "mine"}},
      {{"baton-group", "orders"}},
      {{"baton-shard", ""}},
      {{"baton-shard", "x"}},
      {{"baton-shard", "0x"}},
      {{"baton-shard", "-1"}},
      {{"baton-shard", "4"}},
      {{"baton-shard", "4294967296"}},
      {{"baton-shard", "0"}, {"baton-shard", "0"}},
      {{"baton-shard", "0"}, {"baton-group", "users"}},
      {{"baton-shard", "0"}, {"baton-group", "orders"}, {"baton-group", "orders"}},
      {{"baton-shard", "0"}, {"baton-term", "0"}},
      {{"baton-shard", "0"}, {"baton-request-id", "two words"}},
      {{"baton-shard", "0"}, {"baton-attempt", "first"}},
  };
  for (const std::uint32_t refused : {0u, kShards}) {
    Answer(NotLeaderStatus({ShardId{refused}, "b", "b:1", Term{20}, "orders"}));
    for (const SaidMetadata& said : cases) {
      EXPECT_EQ(Said(channel, said), said);
      EXPECT_EQ(answer_.error_code(), StatusCode::FAILED_PRECONDITION);
    }
  }
  EXPECT_EQ(router->counters().intercepted_calls, 0u);
  EXPECT_EQ(router->counters().intercepted_misroutes, 0u);
}

// Plan: the answer passes unchanged, and the counters of the router's own calls don't change.
TEST_F(InterceptedCallsTest, CountAMisrouteOnceInEveryForm) {
  auto router = Start();
  const Channel channel = ChannelTo(*router);
  const grpc::Status refusal = NotLeaderStatus({ShardId{0}, "b", "b:1", Term{20}, "orders"});
  Answer(refusal);
  std::uint64_t calls = 0;
  for (const auto& [name, call, is_stream] : kForms) {
    grpc::ClientContext context;
    ASSERT_TRUE(router->Mark(context, ShardId{0}).ok());
    const grpc::Status status = call(channel, context);
    EXPECT_EQ(status.error_code(), refusal.error_code()) << name;
    EXPECT_EQ(status.error_message(), refusal.error_message()) << name;
    EXPECT_EQ(status.error_details(), refusal.error_details()) << name;
    EXPECT_EQ(router->counters().intercepted_misroutes, ++calls) << name;
    EXPECT_EQ(router->counters().intercepted_calls, calls) << name;
  }
  EXPECT_EQ(router->counters().attempts, 0u);
  EXPECT_EQ(router->counters().misroutes, 0u);
  EXPECT_EQ(router->counters().failed, 0u);
}

TEST_F(InterceptedCallsTest, CountNoOtherAnswerAsAMisroute) {
  auto router = Start();
  const Channel channel = ChannelTo(*router);
  const grpc::Status cases[] = {
      grpc::Status::OK,
      {StatusCode::FAILED_PRECONDITION, "the application's own"},
      NotLeaderStatus({ShardId{1}, "b", "b:1", Term{20}, "orders"}),
      NotLeaderStatus({ShardId{0}, "b", "b:1", Term{20}, "users"}),
      NoLeaderStatus(ShardId{0}, "nobody leads it", std::chrono::milliseconds(1), "orders")};
  for (const grpc::Status& status : cases) {
    Answer(status);
    EXPECT_EQ(WithoutId(Said(channel, {{"baton-shard", "0"}})), kWhole);
    EXPECT_EQ(answer_.error_message(), status.error_message());
  }
  EXPECT_EQ(router->counters().intercepted_calls, std::size(cases));
  EXPECT_EQ(router->counters().intercepted_misroutes, 0u);
}

// Plan: a call that its caller cancels has begun, but has no answer.
TEST_F(InterceptedCallsTest, MayBeCancelled) {
  auto router = Start();
  std::promise<void> taken, release;
  server_.Handle([&](auto&, const auto&, auto*) {
    taken.set_value();
    release.get_future().wait();
    return NotLeaderStatus({ShardId{0}, "b", "b:1", Term{20}, "orders"});
  });
  grpc::ClientContext context;
  ASSERT_TRUE(router->Mark(context, ShardId{0}).ok());
  auto answer = std::async(std::launch::async, Callback, ChannelTo(*router), std::ref(context));
  taken.get_future().wait();
  context.TryCancel();
  EXPECT_EQ(answer.get().error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(router->counters().intercepted_calls, 1u);
  EXPECT_EQ(router->counters().intercepted_misroutes, 0u);
  release.set_value();
  server_.Stop();  // waits for the handler
}

// Plan: the router is destroyed while a call waits for its answer. That call ends, and others
// follow on the same channel.
TEST_F(InterceptedCallsTest, OutliveTheirRouter) {
  auto router = Start();
  const Channel channel = ChannelTo(*router);
  std::promise<void> taken, release;
  server_.Handle([&](grpc::ServerContext&, const auto&, auto*) {
    taken.set_value();
    release.get_future().wait();
    return NotLeaderStatus({ShardId{0}, "b", "b:1", Term{20}, "orders"});
  });
  grpc::ClientContext context;
  ASSERT_TRUE(router->Mark(context, ShardId{0}).ok());
  auto answer = std::async(std::launch::async, Callback, channel, std::ref(context));
  taken.get_future().wait();
  router.reset();
  release.set_value();
  EXPECT_EQ(answer.get().error_code(), StatusCode::FAILED_PRECONDITION);
  Answer(grpc::Status::OK);
  const SaidMetadata later = Said(channel, {{"baton-shard", "0"}});
  EXPECT_EQ(
      WithoutId(later),
      (SaidMetadata{{"baton-group", "orders"}, {"baton-shard", "0"}, {"baton-attempt", "1"}}));
  EXPECT_THAT(IdOf(later), StartsWith("shop-"));
}

// Plan: many threads call, and half of their calls are misroutes, while routes change and a thread
// reads the counters. They continue while the router is destroyed.
TEST_F(InterceptedCallsTest, AreMadeByManyThreads) {
  auto router = Start();
  const Channel channel = ChannelTo(*router);
  server_.Handle([this](grpc::ServerContext& context, const auto&, auto*) {
    const std::lock_guard lock(mutex_);
    said_.push_back(SaidIn(context));
    if (said_.size() % 2 == 0) return grpc::Status::OK;
    return NotLeaderStatus({ShardId{0}, "b", "b:1", Term{20}, "orders"});
  });
  constexpr std::size_t kThreads = 4, kCalls = 50;
  std::atomic<std::size_t> done{0};
  std::promise<void> go_on;
  auto goes_on = go_on.get_future().share();
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < kThreads; ++i) {
    callers.emplace_back([&, i] {
      const auto call = [&](std::size_t number) {
        grpc::ClientContext context;
        context.AddMetadata("baton-shard", "0");
        kForms[(i + number) % 3].call(channel, context);
        done.fetch_add(1);
      };
      for (std::size_t number = 0; number < kCalls; ++number) call(number);
      goes_on.wait();
      for (std::size_t number = 0; number < kCalls; ++number) call(number);
    });
  }
  std::int64_t term = 10;
  while (done.load() < kThreads * kCalls) {
    routes_.Send(Delta(term + 1, {RouteTo(term + 1)}));
    ++term;
    const bool taken = Until([&] { return router->Owner(ShardId{0}).term >= Term{term}; });
    EXPECT_TRUE(taken);
    if (!taken) break;
    EXPECT_LE(router->counters().intercepted_calls, kThreads * kCalls);
  }
  EXPECT_EQ(router->counters().intercepted_calls, kThreads * kCalls);
  EXPECT_EQ(router->counters().intercepted_misroutes, kThreads * kCalls / 2);
  go_on.set_value();
  EXPECT_TRUE(Until([&] { return done.load() >= kThreads * kCalls + kThreads; }));
  router.reset();
  for (std::thread& caller : callers) caller.join();

  const std::lock_guard lock(mutex_);
  std::set<std::string> ids;
  for (const SaidMetadata& said : said_) {
    ids.insert(IdOf(said));
    EXPECT_EQ(said.count("baton-group"), 1u);
    EXPECT_EQ(said.count("baton-attempt"), 1u);
  }
  EXPECT_EQ(ids.size(), 2 * kThreads * kCalls) << "each has an id of its own";
  for (std::size_t i = 0; i < kThreads * kCalls; ++i) EXPECT_EQ(said_[i].count("baton-term"), 1u);
}

// Plan: the same without gRPC, as the thread sanitizer does not look inside gRPC.
TEST(InterceptedCalls, BeginAndEndOnAnyThreadWhileRoutesChangeAndTheRouterGoes) {
  auto store = std::make_unique<RouteStore>("orders");
  store->BeginStream();
  ASSERT_TRUE(store->Merge(First({}, 10, {{0, "a", 10, 10}}), BootClock::now()).ok());
  InterceptedCalls calls("orders", *store, std::make_shared<RequestIds>("shop"));
  const grpc::Status refusal = NotLeaderStatus({ShardId{0}, "b", "b:1", Term{20}, "orders"});
  constexpr std::size_t kThreads = 4, kCalls = 500;
  std::vector<std::set<std::string>> ids(kThreads);
  std::promise<void> changes;
  std::promise<void> leaves;
  const std::shared_future<void> changing = changes.get_future().share();
  const std::shared_future<void> leaving = leaves.get_future().share();
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < kThreads; ++i) {
    callers.emplace_back([&, i] {
      for (std::size_t number = 0; number < kCalls; ++number) {
        if (number == kCalls / 4) changing.wait();
        if (number == kCalls / 2) leaving.wait();
        SaidMetadata said = {{"baton-shard", "0"}};
        EXPECT_EQ(calls.Begin(said), ShardId{0});
        calls.End(ShardId{0}, number % 2 == 0 ? refusal : grpc::Status::OK);
        ids[i].insert(IdOf(said));
      }
    });
  }
  changes.set_value();
  for (std::int64_t term = 11; calls.calls() < kThreads * kCalls / 2; ++term) {
    EXPECT_TRUE(store->Merge(Delta(term, {{0, "a", term, term}}), BootClock::now()).ok());
  }
  leaves.set_value();
  calls.Leave();
  store.reset();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls.calls(), kThreads * kCalls);
  EXPECT_EQ(calls.misroutes(), kThreads * kCalls / 2);
  for (std::size_t i = 1; i < kThreads; ++i) ids[0].merge(ids[i]);
  EXPECT_EQ(ids[0].size(), kThreads * kCalls);
}

}  // namespace
}  // namespace baton::routing
