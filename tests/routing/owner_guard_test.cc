// The guard of a server, on real nodes and a real etcd: which requests it accepts, which it
// refuses, and what it tells callers that came to the wrong node.
#include "baton/owner_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <set>

#include "base/clock.h"
#include "baton/router.h"
#include "baton/sharding.h"
#include "lab/private_etcd.h"
#include "routing/refusals.h"
#include "routing/scripted_routes.h"
#include "runtime/control.h"

namespace baton::routing {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr std::uint32_t kShards = 12;
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Blocks `acquired` of one shard until it is released.
class Holding : public Listener {
 public:
  explicit Holding(ShardId held) : held_(held) {}
  void Acquired(ShardId shard, Term) override {
    if (shard == held_) released_.wait();
  }
  void Release() { release_.set_value(); }

 private:
  const ShardId held_;
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

/// Waits until a node's routes say that a node leads a shard.
class Heard : public runtime::RouteObserver {
 public:
  Heard(ShardId shard, NodeId leader) : shard_(shard), leader_(std::move(leader)) {}
  void OnRoutes(const runtime::RouteBatch& batch) override {
    for (const runtime::ViewRoute& route : batch.routes) {
      const bool led = route.shard == shard_ && route.leader && route.leader->node == leader_;
      if (led && !std::exchange(done_, true)) told.set_value();
    }
  }
  void OnRoutesEnded(const Error&) override {}
  std::promise<void> told;

 private:
  const ShardId shard_;
  const NodeId leader_;
  bool done_ = false;
};

/// A node and its application's server, which checks each request with the guard.
struct Server {
  Server(const NodeOptions& base, const NodeId& name, OwnerGuardOptions guarding = {},
         std::shared_ptr<Listener> listener = nullptr) {
    NodeOptions options = base;
    options.node = name;
    options.service_address = grpc.address();
    auto started = Node::Start(options, std::move(listener));
    EXPECT_TRUE(started.ok()) << started.error().message;
    node = std::move(started).value();
    guard = std::make_unique<OwnerGuard>(*node, std::move(guarding));
    grpc.Handle([this](grpc::ServerContext& context, const v1::LookupRequest& request,
                       v1::LookupResponse* response) {
      Owned owned;
      const grpc::Status status = request.has_shard()
                                      ? guard->Check(context, ShardId{request.shard()}, &owned)
                                      : guard->Check(context, request.key(), &owned);
      response->set_group(owned.request_id);
      response->mutable_route()->set_shard(owned.shard.value);
      response->mutable_route()->set_term(owned.term.value);
      response->set_revision(owned.attempt);
      return status;
    });
    stub = v1::RoutingService::NewStub(
        grpc::CreateChannel(grpc.address(), grpc::InsecureChannelCredentials()));
  }
  ~Server() { grpc.Stop(); }

  struct Answer {
    grpc::Status status;
    v1::LookupResponse response;
  };
  Answer Ask(const v1::LookupRequest& request, const Metadata& metadata = {}) {
    Answer answer;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    answer.status = stub->Lookup(&context, request, &answer.response);
    return answer;
  }
  Answer AskShard(std::uint32_t shard, const Metadata& metadata = {}) {
    v1::LookupRequest request;
    request.set_shard(shard);
    return Ask(request, metadata);
  }
  Answer AskKey(const std::string& key, const Metadata& metadata = {}) {
    v1::LookupRequest request;
    request.set_key(key);
    return Ask(request, metadata);
  }
  bool Leads(std::uint32_t shard) const { return node->Leadership(ShardId{shard}).activated; }
  std::uint32_t Leading() const {
    std::uint32_t count = 0;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) count += Leads(shard) ? 1 : 0;
    return count;
  }

  ScriptedRoutes grpc;
  std::unique_ptr<Node> node;
  std::unique_ptr<OwnerGuard> guard;
  std::unique_ptr<v1::RoutingService::Stub> stub;
};

class OwnerGuardTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = lab::PrivateEtcd::Start({});
    ASSERT_TRUE(started.ok()) << started.error().message;
    etcd_ = std::move(started).value();
  }
  static void TearDownTestSuite() { etcd_.reset(); }

  static NodeOptions Options() {
    NodeOptions options;
    options.group = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.shards = kShards;
    options.etcd.endpoints = etcd_->endpoints();
    options.ttl = seconds(5);
    options.settle = milliseconds(200);
    options.rebalance_delay = milliseconds(100);
    options.cooldown = milliseconds(0);
    return options;
  }
  /// Polls through the node's loop, which paces it.
  static bool Until(Server& server, const std::function<bool()>& done) {
    const TimePoint give_up = BootClock::now() + kPatience;
    while (BootClock::now() < give_up) {
      if (done()) return true;
      std::promise<void> answered;
      server.node->control().GetStatus([&](const auto&) { answered.set_value(); });
      answered.get_future().wait();
    }
    return done();
  }
  static std::string GroupName() { return Options().group; }

  static std::unique_ptr<lab::PrivateEtcd> etcd_;
};
std::unique_ptr<lab::PrivateEtcd> OwnerGuardTest::etcd_;

TEST_F(OwnerGuardTest, LetsThroughWhatTheNodeLeads) {
  Server server(Options(), "n1");
  ASSERT_TRUE(Until(server, [&] { return server.Leading() == kShards; }));
  ASSERT_TRUE(Until(server, [&] { return server.AskShard(3).status.ok(); }));
  const auto by_shard = server.AskShard(3);
  EXPECT_EQ(by_shard.response.route().shard(), 3u);
  EXPECT_EQ(Term{by_shard.response.route().term()}, server.node->Leadership(ShardId{3}).term);
  EXPECT_EQ(by_shard.response.group(), "") << "no request id was given";

  const auto shard = ShardFor("order-4711", HashFunction::kMurmur2, kShards);
  const auto by_key = server.AskKey("order-4711", {{"baton-group", GroupName()},
                                                   {"baton-shard", std::to_string(shard->value)},
                                                   {"baton-term", "1"},
                                                   {"baton-request-id", "r-1"},
                                                   {"baton-attempt", "2"}});
  EXPECT_TRUE(by_key.status.ok()) << by_key.status.error_message();
  EXPECT_EQ(by_key.response.route().shard(), shard->value);
  EXPECT_EQ(by_key.response.group(), "r-1");
  EXPECT_EQ(by_key.response.revision(), 2);
  EXPECT_EQ(server.guard->misroutes(), 0u);
}

TEST_F(OwnerGuardTest, RefusesWhatIsOff) {
  Server server(Options(), "n1");
  ASSERT_TRUE(Until(server, [&] { return server.AskShard(3).status.ok(); }));
  const auto shard = ShardFor("key", HashFunction::kMurmur2, kShards)->value;
  const std::pair<const char*, std::function<grpc::Status()>> cases[] = {
      {"the key is empty", [&] { return server.AskKey("").status; }},
      {"the key has 1048576 bytes",
       [&] { return server.AskKey(std::string(1024 * 1024, 'k')).status; }},
      {"no shard 12: group RefusesWhatIsOff has shards 0 to 11",
       [&] { return server.AskShard(kShards).status; }},
      {"the request is for group 'users'; this node belongs to group 'RefusesWhatIsOff'",
       [&] {
         return server.AskKey("key", {{"baton-group", "users"}}).status;
       }},
      {"metadata names shard",
       [&] {
         return server.AskKey("key", {{"baton-shard", std::to_string((shard + 1) % kShards)}})
             .status;
       }},
      {"metadata names shard 4",
       [&] {
         return server.AskShard(3, {{"baton-shard", "4"}}).status;
       }},
      {"metadata baton-shard is invalid",
       [&] {
         return server.AskKey("key", {{"baton-shard", "3x"}}).status;
       }},
      {"metadata baton-shard is invalid",
       [&] {
         return server.AskKey("key", {{"baton-shard", "-1"}}).status;
       }},
      {"metadata baton-shard is invalid",
       [&] {
         return server.AskKey("key", {{"baton-shard", "3"}, {"baton-shard", "3"}}).status;
       }},
      {"metadata baton-term is invalid",
       [&] {
         return server.AskKey("key", {{"baton-term", "0"}}).status;
       }},
      {"metadata baton-term is invalid",
       [&] {
         return server.AskKey("key", {{"baton-term", "99999999999999999999"}}).status;
       }},
      {"metadata baton-attempt is invalid",
       [&] {
         return server.AskKey("key", {{"baton-attempt", ""}}).status;
       }},
      {"metadata baton-group is invalid",
       [&] {
         return server.AskKey("key", {{"baton-group", "two words"}}).status;
       }},
      {"metadata baton-request-id is invalid",
       [&] {
         return server.AskKey("key", {{"baton-request-id", std::string(129, 'x')}}).status;
       }},
  };
  for (const auto& [said, ask] : cases) {
    const grpc::Status status = ask();
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << said;
    EXPECT_THAT(status.error_message(), HasSubstr(said));
  }
}

// Plan: two nodes share the shards. The first points to the second exactly when the second leads.
TEST_F(OwnerGuardTest, PointsToTheLeader) {
  Server first(Options(), "n1"), second(Options(), "n2");
  ASSERT_TRUE(Until(first, [&] { return first.Leading() == 6 && second.Leading() == 6; }));
  std::uint32_t shard = 0;
  while (!second.Leads(shard)) ++shard;
  const Term term = second.node->Leadership(ShardId{shard}).term;
  // The first node may hear of it a moment later.
  ASSERT_TRUE(Until(first, [&] {
    return HintOf(DetailsOf(first.AskShard(shard).status)).value_or(HintedLeader{}).term == term;
  }));
  const std::uint64_t before = first.guard->misroutes();
  const grpc::Status status = first.AskShard(shard).status;
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "shard " + std::to_string(shard) + ": led by n2 at " +
                                        second.grpc.address() + " in term " +
                                        std::to_string(term.value) + ", not by this node");
  const RefusalDetails details = DetailsOf(status);
  EXPECT_EQ(details.reason, "NOT_LEADER");
  EXPECT_EQ(details.metadata,
            (std::map<std::string, std::string>{{"group", GroupName()},
                                                {"shard", std::to_string(shard)},
                                                {"leaderNode", "n2"},
                                                {"leaderAddress", second.grpc.address()},
                                                {"term", std::to_string(term.value)}}));
  EXPECT_EQ(details.retry_after, std::nullopt);
  EXPECT_EQ(first.guard->misroutes(), before + 1);

  const grpc::Status newer =
      second.AskShard(shard, {{"baton-term", std::to_string(term.value + 1)}}).status;
  EXPECT_EQ(newer.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(newer.error_message(), HasSubstr("knows a newer term"));
  EXPECT_EQ(DetailsOf(newer).metadata.at("group"), GroupName());
}

// Plan: a router's routes say that the first node leads everything. Its calls reach the leader
// anyway.
TEST_F(OwnerGuardTest, BringsARouterOfOldRoutesToTheLeader) {
  Server first(Options(), "n1"), second(Options(), "n2");
  ASSERT_TRUE(Until(first, [&] { return first.Leading() == 6 && second.Leading() == 6; }));
  ScriptedRoutes routes;
  std::vector<RouteOf> old;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    old.push_back({shard, "n1", 1, 1, v1::Route::STATE_LED, first.grpc.address()});
  }
  routes.Greet(First({.group = GroupName(), .shards = kShards}, 1, old));
  auto router = Router::Start(
      {.group = GroupName(), .endpoints = {routes.address()}, .silence = seconds(60)});
  ASSERT_TRUE(router.ok());
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    v1::LookupRequest request;
    request.set_shard(shard);
    v1::LookupResponse response;
    const grpc::Status status =
        router.value()->Call(ShardId{shard}, &v1::RoutingService::Stub::Lookup, request, &response,
                             {.deadline = kPatience, .retry_unknown = false});
    EXPECT_TRUE(status.ok()) << status.error_message();
    const Server& leader = first.Leads(shard) ? first : second;
    EXPECT_EQ(Term{response.route().term()}, leader.node->Leadership(ShardId{shard}).term);
  }
  EXPECT_GE(router.value()->counters().redirects, 6u);
  EXPECT_EQ(router.value()->counters().ok, kShards);
}

// Plan: a caller makes its calls itself, by routes that say that the first node leads everything. A
// call there for a shard of the second node is a misroute, which both sides count once. The second
// node serves it. Metadata that the guard can't read arrive there unchanged.
TEST_F(OwnerGuardTest, KnowsWhatARoutersInterceptorSays) {
  Server first(Options(), "n1"), second(Options(), "n2");
  ASSERT_TRUE(Until(first, [&] { return first.Leading() == 6 && second.Leading() == 6; }));
  std::uint32_t shard = 0;
  while (!second.Leads(shard)) ++shard;
  ASSERT_TRUE(
      Until(first, [&] { return HintOf(DetailsOf(first.AskShard(shard).status)).has_value(); }));
  ASSERT_TRUE(Until(second, [&] { return second.AskShard(shard).status.ok(); }));
  ScriptedRoutes routes;
  routes.Greet(First({.group = GroupName(), .shards = kShards}, 1,
                     {{shard, "n1", 1, 1, v1::Route::STATE_LED, first.grpc.address()}}));
  auto router = Router::Start(
      {.group = GroupName(), .endpoints = {routes.address()}, .silence = seconds(60)});
  ASSERT_TRUE(router.ok());
  ASSERT_TRUE(router.value()->WaitReady(kPatience).ok());
  const auto ask = [&](const std::string& address, const Metadata& metadata = {}) {
    const auto stub = v1::RoutingService::NewStub(ChannelOf(*router.value(), address));
    grpc::ClientContext context;
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    if (metadata.empty()) {
      EXPECT_TRUE(router.value()->Mark(context, ShardId{shard}).ok());
    }
    v1::LookupRequest request;
    request.set_shard(shard);
    Server::Answer answer;
    answer.status = stub->Lookup(&context, request, &answer.response);
    return answer;
  };
  const std::uint64_t before = first.guard->misroutes();
  EXPECT_EQ(DetailsOf(ask(first.grpc.address()).status).reason, "NOT_LEADER");
  EXPECT_EQ(router.value()->counters().intercepted_misroutes, 1u);
  EXPECT_EQ(first.guard->misroutes(), before + 1);
  const Server::Answer served = ask(second.grpc.address());
  EXPECT_TRUE(served.status.ok()) << served.status.error_message();
  EXPECT_NE(served.response.group(), "") << "the request's id";
  EXPECT_EQ(served.response.revision(), 1) << "the attempt";
  EXPECT_EQ(second.guard->misroutes(), 0u);
  const grpc::Status off = ask(second.grpc.address(), {{"baton-shard", "x"}}).status;
  EXPECT_EQ(off.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(off.error_message(), HasSubstr("metadata baton-shard is invalid"));
  EXPECT_EQ(router.value()->counters().intercepted_calls, 2u);
  EXPECT_EQ(router.value()->counters().intercepted_misroutes, 1u);
}

TEST_F(OwnerGuardTest, LetsNothingThroughBeforeTheShardIsActivatedUnlessToldSo) {
  const auto holding = std::make_shared<Holding>(ShardId{3});
  Server server(Options(), "n1", {.retry_after = milliseconds(25)}, holding);
  OwnerGuard early(*server.node, {.activated = false});
  ASSERT_TRUE(Until(
      server, [&] { return server.Leading() == kShards - 1 && server.node->Leads(ShardId{3}); }));
  ASSERT_TRUE(Until(server, [&] { return server.AskShard(4).status.ok(); }));
  const grpc::Status status = server.AskShard(3).status;
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("not ready to serve it yet; try again"));
  EXPECT_EQ(DetailsOf(status).reason, "NO_LEADER");
  EXPECT_EQ(DetailsOf(status).retry_after, milliseconds(25));
  EXPECT_EQ(server.guard->misroutes(), 0u);
  std::promise<grpc::Status> checked;
  server.grpc.Handle([&](grpc::ServerContext& context, const v1::LookupRequest&, auto*) {
    checked.set_value(early.Check(context, ShardId{3}, nullptr));
    return grpc::Status::OK;
  });
  server.AskShard(3);
  EXPECT_TRUE(checked.get_future().get().ok());
  holding->Release();
}

// Plan: etcd is paused until the session's deadline has passed. Then it continues, and the leader
// does too, in the same term.
TEST_F(OwnerGuardTest, AsksToTryAgainWhileTheSessionIsSuspended) {
  Server server(Options(), "n1");
  ASSERT_TRUE(Until(server, [&] { return server.AskShard(3).status.ok(); }));
  etcd_->Pause(0);
  ASSERT_TRUE(Until(server, [&] { return !server.node->Leads(ShardId{3}); }));
  const grpc::Status status = server.AskShard(3).status;
  etcd_->Resume(0);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(status).reason, "NO_LEADER");
  EXPECT_TRUE(DetailsOf(status).retry_after.has_value());
  EXPECT_EQ(server.guard->misroutes(), 0u);
  EXPECT_TRUE(Until(server, [&] { return server.AskShard(3).status.ok(); }));
}

// Plan: nobody asks for a while, and a shard moves meanwhile. The guard uses its node's new routes,
// not the ones that it knew before.
TEST_F(OwnerGuardTest, PointsToTheLeaderOfNowHoweverLongNobodyAsked) {
  Server first(Options(), "n1"), second(Options(), "n2"), third(Options(), "n3");
  ASSERT_TRUE(Until(first, [&] {
    return first.Leading() == 4 && second.Leading() == 4 && third.Leading() == 4;
  }));
  std::uint32_t shard = 0;
  while (!second.Leads(shard)) ++shard;
  ASSERT_TRUE(Until(first, [&] {
    const auto hint = HintOf(DetailsOf(first.AskShard(shard).status));
    return hint && hint->leader == "n2";
  }));
  const auto heard = std::make_shared<Heard>(ShardId{shard}, "n3");
  first.node->control().AddRouteObserver(heard);
  first.node->control().Request({.shard = ShardId{shard}, .to = "n3", .if_term = {}, .actor = "t"},
                                [](const auto&) {});
  ASSERT_EQ(heard->told.get_future().wait_for(kPatience), std::future_status::ready);
  const auto hint = HintOf(DetailsOf(first.AskShard(shard).status));
  ASSERT_TRUE(hint.has_value());
  EXPECT_EQ(hint->leader, "n3");
}

TEST_F(OwnerGuardTest, TellsTheHintsItIsGiven) {
  std::optional<LeaderHint> hint = LeaderHint{ShardId{3}, "n9", "10.0.0.9:7400", Term{77}};
  Server server(Options(), "n1", {.hints = [&](ShardId) { return hint; }});
  ASSERT_TRUE(Until(server, [&] { return server.AskShard(3).status.ok(); }));
  server.node->Stop();
  const auto told = HintOf(DetailsOf(server.AskShard(3).status));
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->address, "10.0.0.9:7400");
  EXPECT_EQ(told->term, Term{77});
  hint->leader.clear();
  EXPECT_THAT(server.AskShard(3).status.error_message(), HasSubstr("nobody leads it"));
  hint.reset();
  EXPECT_THAT(server.AskShard(3).status.error_message(), HasSubstr("does not know who does"));
}

// Plan: hints that name another shard and group than the request, and one that points to the
// refusing node. By shard and group callers know that the refusal is about their call.
TEST_F(OwnerGuardTest, SaysItselfWhatItRefuses) {
  LeaderHint hint{ShardId{0}, "n9", "10.0.0.9:7400", Term{77}, "another"};
  Server server(Options(), "n1", {.hints = [&](ShardId) { return hint; }});
  ASSERT_TRUE(Until(server, [&] { return server.AskShard(3).status.ok(); }));
  server.node->Stop();
  const RefusalDetails details = DetailsOf(server.AskShard(3).status);
  EXPECT_EQ(details.reason, "NOT_LEADER");
  EXPECT_EQ(details.metadata.at("shard"), "3");
  EXPECT_EQ(details.metadata.at("group"), GroupName());
  hint.leader = "n1";
  const grpc::Status status = server.AskShard(3).status;
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(DetailsOf(status).retry_after.has_value());
}

// Plan: a node that can't reach its etcd has not read its group. The guard says so without
// blocking.
TEST_F(OwnerGuardTest, AsksToTryAgainBeforeTheGroupWasRead) {
  NodeOptions options = Options();
  options.etcd.endpoints = {"127.0.0.1:1"};
  Server server(options, "n1");
  const grpc::Status status = server.AskKey("key").status;
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("has not read the group yet"));
  EXPECT_TRUE(DetailsOf(status).retry_after.has_value());
}

}  // namespace
}  // namespace baton::routing
