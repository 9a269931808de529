// A router's calls against real gRPC servers: which server each attempt goes to, what it carries,
// what a call waits for, and which requests are not made twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "baton/owner_guard.h"
#include "baton/router.h"
#include "routing/refusals.h"
#include "routing/scripted_routes.h"

namespace baton::routing {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A request that an application's server got.
struct Asked {
  std::string server;
  std::string group, shard, term, request_id, attempt;
};

std::string ValueOf(const grpc::ServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return "none";
  return {found->second.data(), found->second.size()};
}

grpc::Status Served(v1::LookupResponse* response, const std::string& by) {
  response->set_group(by);
  return grpc::Status::OK;
}

class RouterCallTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kShards = 4;

  void SetUp() override {
    for (ScriptedRoutes* server : {&a_, &b_, &c_}) ASSERT_TRUE(server->serves());
  }

  /// Sets a server's answers. Each answer names the server.
  using Script = std::function<grpc::Status(const Asked&)>;
  void Serve(ScriptedRoutes& server, const std::string& name, Script script) {
    server.Handle([this, name, script = std::move(script)](grpc::ServerContext& context,
                                                           const v1::LookupRequest&,
                                                           v1::LookupResponse* response) {
      Asked asked{.server = name,
                  .group = ValueOf(context, "baton-group"),
                  .shard = ValueOf(context, "baton-shard"),
                  .term = ValueOf(context, "baton-term"),
                  .request_id = ValueOf(context, "baton-request-id"),
                  .attempt = ValueOf(context, "baton-attempt")};
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(asked);
      }
      changed_.notify_all();
      const grpc::Status status = script(asked);
      return status.ok() ? Served(response, name) : status;
    });
  }
  static grpc::Status Good(const Asked&) { return grpc::Status::OK; }

  /// A router on `routes_` that has read shard 0's leader (empty: nobody).
  std::unique_ptr<Router> Start(const std::string& leader, const std::string& address,
                                std::int64_t term) {
    std::vector<RouteOf> routes;
    if (!leader.empty()) routes.push_back({0, leader, term, term, v1::Route::STATE_LED, address});
    routes_.Greet(First({.shards = kShards}, term, routes));
    auto started = Router::Start(
        {.group = "orders", .endpoints = {routes_.address()}, .silence = seconds(60)});
    EXPECT_TRUE(started.ok());
    EXPECT_TRUE(started.value()->WaitReady(kPatience).ok());
    return std::move(started).value();
  }
  void SendRoute(const std::string& leader, const std::string& address, std::int64_t term) {
    routes_.Send(Delta(term, {{0, leader, term, term, v1::Route::STATE_LED, address}}));
  }

  struct Answer {
    grpc::Status status;
    std::string by;
  };
  static Answer Call(Router& router, CallOptions options = {.deadline = kPatience},
                     const CallTarget& target = ShardId{0}) {
    v1::LookupRequest request;
    v1::LookupResponse response;
    grpc::Status status =
        router.Call(target, &v1::RoutingService::Stub::Lookup, request, &response, options);
    return {std::move(status), response.group()};
  }

  std::vector<Asked> AllAsked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  bool AwaitAsked(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return asked_.size() >= count; });
  }
  /// The server of each attempt.
  std::vector<std::string> Servers() {
    std::vector<std::string> servers;
    for (const Asked& asked : AllAsked()) servers.push_back(asked.server);
    return servers;
  }
  template <typename Counter>
  static bool AwaitCounter(const Router& router, Counter RouterCounters::*counter,
                           std::uint64_t least) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (router.counters().*counter < least) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> asked_;  // guarded by mutex_
  ScriptedRoutes routes_, a_, b_, c_;
};

TEST_F(RouterCallTest, AsksTheLeaderAndSaysWhatFor) {
  Serve(a_, "a", Good);
  auto router = Start("a", a_.address(), 10);
  EXPECT_EQ(Call(*router).by, "a");
  const Asked asked = AllAsked().at(0);
  EXPECT_EQ(asked.group, "orders");
  EXPECT_EQ(asked.shard, "0");
  EXPECT_EQ(asked.term, "10");
  EXPECT_EQ(asked.attempt, "1");
  EXPECT_EQ(Call(*router, {.request_id = "mine"}).by, "a");
  EXPECT_EQ(AllAsked().at(1).request_id, "mine");
  EXPECT_NE(asked.request_id, "none");
  EXPECT_EQ(router->counters().ok, 2u);
}

TEST_F(RouterCallTest, GivesBackWhatTheApplicationSays) {
  auto router = Start("a", a_.address(), 10);
  for (const StatusCode code :
       {StatusCode::NOT_FOUND, StatusCode::FAILED_PRECONDITION, StatusCode::ABORTED,
        StatusCode::INTERNAL, StatusCode::DEADLINE_EXCEEDED, StatusCode::INVALID_ARGUMENT,
        StatusCode::RESOURCE_EXHAUSTED}) {
    Serve(a_, "a", [code](const Asked&) { return grpc::Status(code, "mine", "details"); });
    const grpc::Status status = Call(*router).status;
    EXPECT_EQ(status.error_code(), code);
    EXPECT_EQ(status.error_message(), "mine");
    EXPECT_EQ(status.error_details(), "details");
  }
  EXPECT_EQ(AllAsked().size(), 7u) << "none was made again";
  EXPECT_EQ(router->counters().failed, 7u);
}

// Plan: the leader does not offer the method, or the application answers so by itself. The caller
// gets that status, and a message that names the address and says no more than is known.
TEST_F(RouterCallTest, NamesTheAddressThatAnsweredUnimplemented) {
  Serve(a_, "a", [](const Asked&) {
    return grpc::Status(StatusCode::UNIMPLEMENTED, "unknown service", "details");
  });
  auto router = Start("a", a_.address(), 10);
  const grpc::Status status = Call(*router).status;
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status.error_message(),
            a_.address() + " answered UNIMPLEMENTED: unknown service; if " + a_.address() +
                " is not the application's, correct the leader's service address");
  EXPECT_EQ(status.error_details(), "details");
  EXPECT_EQ(AllAsked().size(), 1u) << "it was not made again";
}

// Plan: the leader has no service address. A call says so when it gives up, and is sent if an
// address arrives.
TEST_F(RouterCallTest, SaysThatTheLeaderHasNoServiceAddress) {
  auto router = Start("a", "", 10);
  EXPECT_EQ(router->Owner(ShardId{0}).leader, "a");
  const grpc::Status status = Call(*router, {.deadline = milliseconds(50)}).status;
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(
      status.error_message(),
      HasSubstr("; nothing took effect; its leader a has no service address (host:port): give "
                "batond --service-address, or set NodeOptions::service_address"));
  auto waiting = std::async(std::launch::async, [&] { return Call(*router).by; });
  Serve(a_, "a", Good);
  EXPECT_TRUE(AwaitCounter(*router, &RouterCounters::waits, 2));
  SendRoute("a", a_.address(), 11);
  EXPECT_EQ(waiting.get(), "a");
}

// Plan: a server that shuts down cancels the request that it has accepted; the caller did not
// cancel. The request is made again if that is allowed; else the call ends with that status.
TEST_F(RouterCallTest, MakesAgainWhatAServerCancelled) {
  const auto cancel_first = [](const Asked& asked) {
    return asked.attempt == "1" ? grpc::Status(StatusCode::CANCELLED, "CANCELLED")
                                : grpc::Status::OK;
  };
  Serve(a_, "a", cancel_first);
  auto router = Start("a", a_.address(), 10);
  EXPECT_EQ(Call(*router).by, "a");
  EXPECT_EQ(AllAsked().size(), 2u);
  EXPECT_EQ(Call(*router, {.retry_unknown = false}).status.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(AllAsked().size(), 3u);
}

// Plan: a points to b, with a greater term than the table has, and b points to c.
TEST_F(RouterCallTest, FollowsHintsTowardsGreaterTermsWithOneRequestId) {
  Serve(a_, "a", [&](const Asked&) { return NotLeaderStatus({{}, "b", b_.address(), Term{20}}); });
  Serve(b_, "b", [&](const Asked&) { return NotLeaderStatus({{}, "c", c_.address(), Term{30}}); });
  Serve(c_, "c", Good);
  auto router = Start("a", a_.address(), 10);
  EXPECT_EQ(Call(*router).by, "c");
  const auto asked = AllAsked();
  EXPECT_THAT(Servers(), ElementsAre("a", "b", "c"));
  for (const Asked& each : asked) EXPECT_EQ(each.request_id, asked[0].request_id);
  EXPECT_EQ(asked[2].term, "30");
  EXPECT_EQ(asked[2].attempt, "3");
  EXPECT_EQ(router->counters().redirects, 2u);
  EXPECT_EQ(router->counters().misroutes, 2u);
  EXPECT_EQ(router->counters().waits, 0u);
}

// Plan: a leads in term 10 but does not know it yet, and points back to b in term 9. The router
// does not ask b; it asks a again.
TEST_F(RouterCallTest, FollowsNoHintTowardsAnOlderTerm) {
  Serve(a_, "a", [&](const Asked& asked) {
    if (asked.attempt != "1" && asked.attempt != "2") return grpc::Status::OK;
    return NotLeaderStatus({{}, "b", b_.address(), asked.attempt == "1" ? Term{9} : Term{10}});
  });
  Serve(b_, "b", Good);
  auto router = Start("a", a_.address(), 10);
  EXPECT_EQ(Call(*router).by, "a");
  EXPECT_THAT(Servers(), ElementsAre("a", "a", "a"));
  EXPECT_EQ(router->counters().redirects, 0u);
  EXPECT_EQ(router->counters().misroutes, 2u);
}

// Plan: a and b point to each other with ever greater terms. After max_hops the call waits for a
// moment before it continues.
TEST_F(RouterCallTest, BoundsTheHops) {
  const auto onward = [&](ScriptedRoutes& to, const char* name) {
    return [&to, name](const Asked& asked) {
      if (std::stoi(asked.attempt) > 10) return grpc::Status::OK;
      return NotLeaderStatus({{}, name, to.address(), Term{std::stoll(asked.term) + 1}});
    };
  };
  Serve(a_, "a", onward(b_, "b"));
  Serve(b_, "b", onward(a_, "a"));
  auto router = Start("a", a_.address(), 10);
  EXPECT_TRUE(Call(*router, {.deadline = kPatience, .max_hops = 3}).status.ok());
  EXPECT_EQ(AllAsked().size(), 11u);
  EXPECT_EQ(router->counters().waits, 2u) << "after hops 3 and 6";
}

TEST_F(RouterCallTest, IgnoresHintsThatAreNone) {
  const std::vector<std::map<std::string, std::string>> hints = {
      {},
      {{"leaderAddress", "127.0.0.1:1"}},
      {{"leaderAddress", ""}, {"term", "99"}},
      {{"leaderAddress", "127.0.0.1:1"}, {"term", "99x"}},
      {{"leaderAddress", "127.0.0.1:1"}, {"term", "-1"}},
      {{"leaderAddress", "two words"}, {"term", "99"}}};
  for (auto hint : hints) {
    hint[kShardDetail] = "0";
    Serve(a_, "a", [hint](const Asked& asked) {
      if (asked.attempt == "2") return grpc::Status::OK;
      return StatusOf({StatusCode::FAILED_PRECONDITION, "no", kNotLeader, hint});
    });
    auto router = Start("a", a_.address(), 10);
    EXPECT_EQ(Call(*router).by, "a");
    EXPECT_EQ(router->counters().redirects, 0u);
  }
}

// Plan: nobody leads. The call waits without an attempt, and is sent when a route arrives.
TEST_F(RouterCallTest, WaitsForALeader) {
  Serve(a_, "a", Good);
  auto router = Start("", "", 10);
  auto answer = std::async(std::launch::async, [&] { return Call(*router); });
  ASSERT_TRUE(AwaitCounter(*router, &RouterCounters::waits, 1));
  SendRoute("a", a_.address(), 11);
  EXPECT_EQ(answer.get().by, "a");
  EXPECT_EQ(AllAsked().size(), 1u);
  EXPECT_EQ(router->counters().waits, 1u);
}

TEST_F(RouterCallTest, WaitsForTheFirstRoutes) {
  Serve(a_, "a", Good);
  auto started =
      Router::Start({.group = "orders", .endpoints = {routes_.address()}, .silence = seconds(60)});
  auto answer = std::async(std::launch::async, [&] {
    return Call(*started.value(), {.deadline = kPatience}, "some key");
  });
  ASSERT_TRUE(routes_.AwaitStreams(1));
  std::vector<RouteOf> routes;
  for (std::uint32_t s = 0; s < kShards; ++s) {
    routes.push_back({s, "a", 10, 10, v1::Route::STATE_LED, a_.address()});
  }
  routes_.Greet(First({.shards = kShards}, 10, routes));
  EXPECT_EQ(answer.get().by, "a");
}

// Plan: the old leader answers that nobody leads, and to retry in an hour. A new route ends the
// wait.
TEST_F(RouterCallTest, GoesOutWithANewRouteHoweverLongItWasToldToWait) {
  Serve(a_, "a",
        [](const Asked&) { return NoLeaderStatus({}, "nobody leads it", std::chrono::hours(1)); });
  Serve(b_, "b", Good);
  auto router = Start("a", a_.address(), 10);
  auto answer = std::async(std::launch::async, [&] { return Call(*router); });
  ASSERT_TRUE(AwaitCounter(*router, &RouterCounters::waits, 1));
  SendRoute("b", b_.address(), 11);
  EXPECT_EQ(answer.get().by, "b");
  EXPECT_THAT(Servers(), ElementsAre("a", "b"));
}

// Plan: a refusal that took no effect leads to another attempt, even without retry_unknown.
TEST_F(RouterCallTest, AsksAgainAfterTheTimeItWasTold) {
  Serve(a_, "a", [](const Asked& asked) {
    if (asked.attempt == "4") return grpc::Status::OK;
    return NoLeaderStatus({}, "suspended", milliseconds(1));
  });
  auto router = Start("a", a_.address(), 10);
  EXPECT_EQ(Call(*router, {.deadline = kPatience, .retry_unknown = false}).by, "a");
  EXPECT_EQ(AllAsked().size(), 4u);
}

// Plan: the leader's server is down, and comes back at the same address. Nothing was sent
// meanwhile, so even a call that must not be repeated waits for it.
TEST_F(RouterCallTest, WaitsForALeaderThatCannotBeReached) {
  const int port = a_.port();
  a_.Stop();
  auto router = Start("a", "127.0.0.1:" + std::to_string(port), 10);
  auto answer = std::async(std::launch::async, [&] {
    return Call(*router, {.deadline = kPatience, .retry_unknown = false});
  });
  ASSERT_TRUE(AwaitCounter(*router, &RouterCounters::waits, 3));
  ScriptedRoutes again(port);
  ASSERT_TRUE(again.serves());
  Serve(again, "a", Good);
  const Answer answered = answer.get();
  EXPECT_TRUE(answered.status.ok() || answered.status.error_code() == StatusCode::UNIMPLEMENTED)
      << answered.status.error_message();
  EXPECT_EQ(router->counters().attempts, 1u);
}

// Plan: the server answers UNAVAILABLE without details, as gRPC does when a connection breaks. The
// request may have taken effect.
TEST_F(RouterCallTest, MakesNoRequestTwiceUnlessAllowed) {
  for (const bool allowed : {false, true}) {
    ScriptedRoutes breaking;
    std::promise<void> serving;
    Serve(breaking, "a", [&](const Asked& asked) {
      if (asked.attempt == "1") serving.set_value();
      return grpc::Status(StatusCode::UNAVAILABLE, "half done");
    });
    Serve(b_, "b", Good);
    auto router = Start("a", breaking.address(), 10);
    auto answer = std::async(std::launch::async, [&] {
      return Call(*router, {.deadline = kPatience, .retry_unknown = allowed});
    });
    serving.get_future().wait();
    if (allowed) SendRoute("b", b_.address(), 11);
    const Answer answered = answer.get();
    if (allowed) {
      EXPECT_EQ(answered.by, "b");
      const auto asked = AllAsked();
      EXPECT_EQ(asked.back().request_id, asked[asked.size() - 2].request_id);
    } else {
      EXPECT_EQ(answered.status.error_code(), StatusCode::UNAVAILABLE);
      EXPECT_EQ(answered.status.error_message(), "half done");
      EXPECT_EQ(router->counters().attempts, 1u);
      EXPECT_EQ(router->counters().unknown, 1u);
    }
  }
}

// Plan: the handler calls another sharded service first, and passes on its refusal. A refusal about
// another shard or group, or about none, says nothing about this call.
TEST_F(RouterCallTest, GivesBackTheRefusalOfANestedCall) {
  const std::map<std::string, std::string> others[] = {
      {}, {{"shard", "1"}}, {{"group", "users"}, {"shard", "0"}}};
  auto router = Start("a", a_.address(), 10);
  for (auto metadata : others) {
    metadata.insert({{"leaderNode", "b"}, {"leaderAddress", b_.address()}, {"term", "99"}});
    for (const auto& [code, reason] : {std::pair{StatusCode::FAILED_PRECONDITION, kNotLeader},
                                       std::pair{StatusCode::UNAVAILABLE, kNoLeader}}) {
      const grpc::Status nested = StatusOf({code, "nested", reason, metadata, milliseconds(1)});
      Serve(a_, "a", [nested](const Asked&) { return nested; });
      const grpc::Status status = Call(*router).status;
      EXPECT_EQ(status.error_code(), code);
      EXPECT_EQ(status.error_message(), "nested");
    }
  }
  EXPECT_THAT(AllAsked().size(), 2 * std::size(others)) << "none was made again";
}

// Plan: a server answers UNAVAILABLE with only RetryInfo, as any server may. The request may have
// taken effect, so without permission it is not repeated.
TEST_F(RouterCallTest, TakesRetryInfoAloneForAPause) {
  for (const char* const reason : {"", "OVERLOADED"}) {
    Serve(a_, "a", [reason](const Asked&) {
      return StatusOf({StatusCode::UNAVAILABLE, "busy", reason, {{"shard", "0"}}, milliseconds(1)});
    });
    auto router = Start("a", a_.address(), 10);
    const grpc::Status status =
        Call(*router, {.deadline = kPatience, .retry_unknown = false}).status;
    EXPECT_EQ(status.error_message(), "busy");
    EXPECT_EQ(router->counters().unknown, 1u);
    EXPECT_EQ(router->counters().attempts, 1u);
  }
}

// Plan: if times can't be represented in nanoseconds, the deadline limits the attempt.
TEST_F(RouterCallTest, TakesTheLongestTimesThereAre) {
  Serve(a_, "a", Good);
  auto router = Start("a", a_.address(), 10);
  const grpc::Status status =
      Call(*router, {.deadline = milliseconds::max(), .attempt = milliseconds::max()}).status;
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(router->counters().attempts, 1u);
}

// Plan: a accepts the request and hangs; then b becomes the leader. The attempt at a is cancelled.
TEST_F(RouterCallTest, LeavesALeaderThatHangsOnceItIsReplaced) {
  std::promise<void> release;
  auto released = release.get_future().share();
  Serve(a_, "a", [released](const Asked&) {
    released.wait();
    return grpc::Status::OK;
  });
  Serve(b_, "b", Good);
  auto router = Start("a", a_.address(), 10);
  auto answer = std::async(std::launch::async, [&] { return Call(*router); });
  ASSERT_TRUE(AwaitAsked(1));
  SendRoute("b", b_.address(), 11);
  EXPECT_EQ(answer.get().by, "b");
  EXPECT_EQ(router->counters().superseded, 1u);
  release.set_value();
}

// Plan: each attempt has its own time limit, and the second one is answered.
TEST_F(RouterCallTest, BoundsEachAttempt) {
  std::promise<void> release;
  auto released = release.get_future().share();
  Serve(a_, "a", [released](const Asked& asked) {
    if (asked.attempt == "1") released.wait();
    return grpc::Status::OK;
  });
  auto router = Start("a", a_.address(), 10);
  EXPECT_EQ(Call(*router, {.deadline = kPatience, .attempt = milliseconds(50)}).by, "a");
  EXPECT_GE(AllAsked().size(), 2u);
  release.set_value();
}

TEST_F(RouterCallTest, KeepsTheDeadlineAndSaysWhetherSomethingMayHaveTakenEffect) {
  auto router = Start("", "", 10);
  const auto begun = std::chrono::steady_clock::now();
  const grpc::Status nobody = Call(*router, {.deadline = milliseconds(50)}).status;
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(50));
  EXPECT_EQ(nobody.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(nobody.error_message(), AllOf(HasSubstr("shard 0 of group orders: gave up after"),
                                            HasSubstr("nothing took effect; nobody leads it")));
  EXPECT_EQ(DetailsOf(nobody).reason, "NO_LEADER");
  EXPECT_EQ(DetailsOf(nobody).metadata,
            (std::map<std::string, std::string>{{"group", "orders"}, {"shard", "0"}}));
  EXPECT_TRUE(DetailsOf(nobody).retry_after.has_value());
  std::promise<void> release;
  auto released = release.get_future().share();
  Serve(a_, "a", [released](const Asked&) {
    released.wait();
    return grpc::Status::OK;
  });
  SendRoute("a", a_.address(), 11);
  const grpc::Status unknown = Call(*router, {.deadline = milliseconds(1000)}).status;
  EXPECT_EQ(unknown.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(unknown.error_message(), HasSubstr("attempt 1 may have taken effect"));
  release.set_value();
  // It must wait longer than its deadline, so the deadline can't pass during an attempt.
  Serve(a_, "a",
        [](const Asked&) { return NoLeaderStatus({}, "suspended", std::chrono::hours(1)); });
  const grpc::Status refused = Call(*router, {.deadline = milliseconds(1000)}).status;
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(),
              AllOf(HasSubstr("nothing took effect"), HasSubstr("last from " + a_.address()),
                    HasSubstr("suspended")));
}

TEST_F(RouterCallTest, RefusesWhatIsOffWithoutAnAttempt) {
  Serve(a_, "a", Good);
  auto router = Start("a", a_.address(), 10);
  const std::pair<const char*, std::function<Answer()>> cases[] = {
      {"the key is empty", [&] { return Call(*router, {}, ""); }},
      {"the key has 4097 bytes", [&] { return Call(*router, {}, std::string(4097, 'k')); }},
      {"no shard 4: group orders has shards 0 to 3", [&] { return Call(*router, {}, ShardId{4}); }},
      {"deadline must be above 0", [&] { return Call(*router, {.deadline = milliseconds(0)}); }},
      {"an attempt must not be negative",
       [&] { return Call(*router, {.attempt = milliseconds(-1)}); }},
      {"max_hops must not be negative", [&] { return Call(*router, {.max_hops = -1}); }},
      {"the request id is invalid", [&] { return Call(*router, {.request_id = "a\nb"}); }},
      {"the request id is invalid",
       [&] { return Call(*router, {.request_id = std::string(129, 'x')}); }},
  };
  for (const auto& [said, call] : cases) {
    const grpc::Status status = call().status;
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << said;
    EXPECT_THAT(status.error_message(), HasSubstr(said));
  }
  EXPECT_EQ(AllAsked().size(), 0u);
  EXPECT_EQ(router->counters().refused, std::size(cases));
}

// Plan: when the router is stopped, one call waits for a leader and another for an answer.
TEST_F(RouterCallTest, EndsTheCallsAtWorkWhenItIsStopped) {
  std::promise<void> release;
  auto released = release.get_future().share();
  Serve(a_, "a", [released](const Asked&) {
    released.wait();
    return grpc::Status::OK;
  });
  auto router = Start("a", a_.address(), 10);
  std::vector<std::future<Answer>> waiting, asking;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(std::async(
        std::launch::async, [&] { return Call(*router, {.deadline = kPatience}, ShardId{1}); }));
    asking.push_back(std::async(std::launch::async, [&] { return Call(*router); }));
  }
  ASSERT_TRUE(AwaitAsked(8));
  ASSERT_TRUE(AwaitCounter(*router, &RouterCounters::waits, 8));
  router->Stop();
  for (auto& each : waiting) {
    const grpc::Status status = each.get().status;
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("the router was stopped; nothing took effect"));
  }
  for (auto& each : asking) {
    const grpc::Status status = each.get().status;
    EXPECT_EQ(status.error_code(), StatusCode::CANCELLED);
    EXPECT_THAT(status.error_message(), HasSubstr("attempt 1 may have taken effect"));
  }
  EXPECT_EQ(Call(*router).status.error_code(), StatusCode::UNAVAILABLE) << "stopped for good";
  release.set_value();
}

// Plan: many threads call while the leadership alternates between two servers, which refuse shards
// that they don't lead. Every call succeeds, and exactly one server serves each request id.
TEST_F(RouterCallTest, LosesAndDoublesNoCallWhileLeadersChange) {
  std::mutex mutex;
  std::int64_t term = 10;
  std::map<std::string, int> served;
  const auto guarded = [&](ScriptedRoutes& other, bool even) {
    return [&, even](const Asked& asked) {
      const std::lock_guard lock(mutex);
      if ((term % 2 == 0) != even) {
        return NotLeaderStatus({{}, even ? "b" : "a", other.address(), Term{term}});
      }
      ++served[asked.request_id];
      return grpc::Status::OK;
    };
  };
  Serve(a_, "a", guarded(b_, true));
  Serve(b_, "b", guarded(a_, false));
  auto router = Start("a", a_.address(), 10);
  constexpr int kThreads = 4, kCalls = 100;
  std::atomic<int> done{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < kThreads; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < kCalls; ++call) {
        const Answer answer = Call(*router, {.deadline = kPatience, .retry_unknown = false});
        EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
        done.fetch_add(1);
      }
    });
  }
  while (done.load() < kThreads * kCalls) {
    std::int64_t next = 0;
    {
      const std::lock_guard lock(mutex);
      next = ++term;
    }
    SendRoute(next % 2 == 0 ? "a" : "b", next % 2 == 0 ? a_.address() : b_.address(), next);
    const int before = done.load();
    while (done.load() < std::min(before + 5, kThreads * kCalls)) std::this_thread::yield();
  }
  for (std::thread& caller : callers) caller.join();
  const std::lock_guard lock(mutex);
  EXPECT_EQ(served.size(), std::size_t{kThreads * kCalls});
  for (const auto& [id, times] : served) EXPECT_EQ(times, 1) << id;
}

}  // namespace
}  // namespace baton::routing
