// RoutingService over real gRPC, on real nodes and a real etcd.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baton/grpc.h"
#include "baton/node.h"
#include "baton/sharding.h"
#include "baton/v1/routing.grpc.pb.h"
#include "etcd/etcd.grpc.pb.h"
#include "etcd/keyspace.h"
#include "lab/private_etcd.h"
#include "routing/server/routing_service.h"
#include "runtime/control.h"
#include "runtime/fake_control.h"

namespace baton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr seconds kPatience{60};

/// A caller that follows routes as a client does.
class Follower {
 public:
  Follower(v1::RoutingService::Stub& stub, const v1::WatchRoutesRequest& request) {
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    reader_ = stub.WatchRoutes(&context_, request);
  }
  ~Follower() { context_.TryCancel(); }

  /// Reads until `done`; false: the stream ended before that.
  bool ReadUntil(const std::function<bool()>& done) {
    while (!done()) {
      if (!reader_->Read(&last)) return false;
      ++messages;
      for (const v1::Route& route : last.routes()) {
        routes[route.shard()] = route;
        leaders[route.shard()] =
            route.leader() == 0 ? "" : last.nodes(static_cast<int>(route.leader()) - 1).node();
      }
      if (!last.server().empty()) first = last;
      if (last.complete_to() != 0) complete_to = last.complete_to();
      snapshot_end |= last.snapshot_end();
    }
    return true;
  }
  bool AllLedBy(const std::string& node, std::size_t shards) {
    return ReadUntil([&] {
      std::size_t led = 0;
      for (const auto& [shard, route] : routes) {
        led += leaders[shard] == node && route.state() == v1::Route::STATE_LED ? 1 : 0;
      }
      return led == shards;
    });
  }
  /// The status of a stream that the server ended.
  grpc::Status Finish() {
    while (reader_->Read(&last)) {
    }
    return reader_->Finish();
  }
  void Cancel() { context_.TryCancel(); }

  v1::WatchRoutesResponse last;
  v1::WatchRoutesResponse first;
  std::map<std::uint32_t, v1::Route> routes;
  std::map<std::uint32_t, std::string> leaders;
  std::int64_t complete_to = 0;
  bool snapshot_end = false;
  int messages = 0;

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchRoutesResponse>> reader_;
};

/// A node that serves its routes.
struct Served {
  Served(NodeOptions options, RoutingOptions routing_options = {}) {
    auto started = Node::Start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.error().message;
    node = std::move(started).value();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    routing = RegisterRoutingService(builder, *node, routing_options);
    server = builder.BuildAndStart();
    address = "127.0.0.1:" + std::to_string(port);
    channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    stub = v1::RoutingService::NewStub(channel);
  }
  ~Served() {
    routing->Shutdown();
    server->Shutdown();
    server->Wait();
  }

  grpc::Status Lookup(const v1::LookupRequest& request, v1::LookupResponse* response) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    return stub->Lookup(&context, request, response);
  }
  /// Follows until `leader` leads all shards.
  void AwaitLed(const std::string& leader, std::size_t shards) const {
    ASSERT_TRUE(node->WaitReady(kPatience).ok());
    Follower follower(*stub, {});
    ASSERT_TRUE(follower.AllLedBy(leader, shards));
  }

  std::unique_ptr<Node> node;
  std::unique_ptr<RoutingService> routing;
  std::unique_ptr<grpc::Server> server;
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::RoutingService::Stub> stub;
};

class RoutingServiceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = lab::PrivateEtcd::Start({});
    ASSERT_TRUE(started.ok()) << started.error().message;
    etcd_ = std::move(started).value();
  }
  static void TearDownTestSuite() { etcd_.reset(); }

  static NodeOptions Options(const NodeId& node, std::uint32_t shards = 12) {
    NodeOptions options;
    options.group = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.shards = shards;
    options.node = node;
    options.address = node + ":7400";
    options.etcd.endpoints = etcd_->endpoints();
    options.ttl = seconds(3);
    options.settle = milliseconds(200);
    options.rebalance_delay = std::chrono::hours(1);
    options.cooldown = milliseconds(0);
    return options;
  }
  static void DeleteGroup() {
    const etcd::Keyspace keyspace(etcd::kDefaultPrefix, Options("").group);
    const auto kv = etcdserverpb::KV::NewStub(
        grpc::CreateChannel(etcd_->endpoints().front(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    etcdserverpb::TxnRequest request;
    auto* const range = request.add_success()->mutable_request_delete_range();
    range->set_key(keyspace.begin());
    range->set_range_end(keyspace.end());
    etcdserverpb::TxnResponse response;
    ASSERT_TRUE(kv->Txn(&context, request, &response).ok());
  }
  static void Move(Node& node, std::uint32_t shard, const NodeId& to) {
    std::promise<bool> moved;
    node.control().Request({.shard = ShardId{shard}, .to = to, .if_term = {}, .actor = "test"},
                           [&](Result<MoveFact> result) { moved.set_value(result.ok()); });
    ASSERT_TRUE(moved.get_future().get());
  }

  static std::unique_ptr<lab::PrivateEtcd> etcd_;
};
std::unique_ptr<lab::PrivateEtcd> RoutingServiceTest::etcd_;

TEST_F(RoutingServiceTest, AnswersLookupsByShardAndByKey) {
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  v1::LookupRequest request;
  request.set_shard(5);
  v1::LookupResponse response;
  ASSERT_TRUE(n1.Lookup(request, &response).ok());
  EXPECT_EQ(response.route().shard(), 5u);
  EXPECT_EQ(response.leader().node(), "n1");
  EXPECT_EQ(response.leader().address(), "n1:7400");
  EXPECT_EQ(response.route().leader(), 1u);
  EXPECT_EQ(response.route().term(), n1.node->Leadership(ShardId{5}).term.value);
  // The node may know its own claim from etcd's answer, before the watch has reached it.
  EXPECT_GE(response.route().revision(), response.route().term());
  EXPECT_GT(response.revision(), 0);
  EXPECT_EQ(response.mapping().shards(), 12u);
  request.set_key("order-17");
  ASSERT_TRUE(n1.Lookup(request, &response).ok());
  EXPECT_EQ(response.route().shard(), ShardFor("order-17", HashFunction::kMurmur2, 12)->value);
}

TEST_F(RoutingServiceTest, RefusesBadQuestionsInOneLine) {
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  const auto code = [&](const auto& change) {
    v1::LookupRequest request;
    change(request);
    v1::LookupResponse response;
    const grpc::Status status = n1.Lookup(request, &response);
    EXPECT_EQ(status.error_message().find('\n'), std::string::npos);
    return status.error_code();
  };
  EXPECT_EQ(code([](auto&) {}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& request) { request.set_key(""); }), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& request) { request.set_key(std::string(1 << 20, 'k')); }),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& request) { request.set_shard(12); }), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(code([](auto& request) {
              request.set_shard(1);
              request.set_group("payments");
            }),
            grpc::StatusCode::NOT_FOUND);

  v1::WatchRoutesRequest request;
  request.set_group("payments");
  Follower stranger(*n1.stub, request);
  EXPECT_EQ(stranger.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  request.Clear();
  request.set_after_revision(-1);
  Follower negative(*n1.stub, request);
  EXPECT_EQ(negative.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// Bytes that are not a message, as a faulty client might send them.
TEST_F(RoutingServiceTest, RefusesBytesThatAreNoRequest) {
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  grpc::GenericStub stub(n1.channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, "/baton.v1.RoutingService/WatchRoutes", &queue);
  const auto wait = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  ASSERT_TRUE(wait());
  const grpc::Slice slice(std::string("\xff\xff\xff garbage"));
  call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
  ASSERT_TRUE(wait());
  grpc::Status status;
  call->Finish(&status, nullptr);
  ASSERT_TRUE(wait());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("WatchRoutesRequest"));
}

// Plan: two nodes with a stream on each. One shard moves. Both streams get the move, with the same
// term and growing revisions. A caller that comes back gets only that shard.
TEST_F(RoutingServiceTest, StreamsHearOfAMoveAndResumeElsewhere) {
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  const Served n2(Options("n2"));
  ASSERT_TRUE(n2.node->WaitReady(kPatience).ok());
  Follower first(*n1.stub, {});
  Follower second(*n2.stub, {});
  ASSERT_TRUE(first.AllLedBy("n1", 12));
  ASSERT_TRUE(second.AllLedBy("n1", 12));
  EXPECT_EQ(first.first.server(), "n1");
  EXPECT_EQ(second.first.server(), "n2");
  EXPECT_EQ(first.first.cluster(), second.first.cluster());
  const std::int64_t known = second.complete_to;
  const std::int64_t before = first.routes[3].revision();

  Move(*n1.node, 3, "n2");
  const auto moved = [](Follower& follower) {
    return follower.ReadUntil([&] {
      return follower.leaders[3] == "n2" && follower.routes[3].state() == v1::Route::STATE_LED;
    });
  };
  ASSERT_TRUE(moved(first));
  ASSERT_TRUE(moved(second));
  EXPECT_EQ(first.routes[3].term(), second.routes[3].term());
  EXPECT_GE(first.routes[3].revision(), first.routes[3].term());
  EXPECT_GT(first.routes[3].revision(), before);

  v1::WatchRoutesRequest request;
  request.set_after_revision(known);
  request.set_cluster(first.first.cluster());
  Follower resumed(*n1.stub, request);
  ASSERT_TRUE(resumed.ReadUntil([&] { return resumed.snapshot_end; }));
  EXPECT_FALSE(resumed.first.anew());
  EXPECT_EQ(resumed.routes.size(), 1u);
  EXPECT_EQ(resumed.leaders[3], "n2");
}

// Plan: the group's keys are deleted and it is created again with the same cluster id, as after a
// restored backup. Earlier callers come back with a revision that the new history has not reached,
// and with one that it has passed. Both get everything, and the order to forget their routes.
TEST_F(RoutingServiceTest, AGroupCreatedAgainIsAnotherHistory) {
  v1::WatchRoutesRequest request;
  {
    const Served n1(Options("n1"));
    n1.AwaitLed("n1", 12);
    Follower before(*n1.stub, {});
    ASSERT_TRUE(before.ReadUntil([&] { return before.snapshot_end; }));
    request.set_after_revision(before.complete_to);
    request.set_cluster(before.first.cluster());
  }
  DeleteGroup();
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  for (const std::int64_t after : {request.after_revision(), std::int64_t{1'000'000}}) {
    request.set_after_revision(after);
    Follower back(*n1.stub, request);
    ASSERT_TRUE(back.ReadUntil([&] { return back.snapshot_end; }));
    EXPECT_TRUE(back.first.anew());
    EXPECT_NE(back.first.cluster(), request.cluster());
    EXPECT_EQ(back.routes.size(), 12u);
  }
}

TEST_F(RoutingServiceTest, HeartbeatsTellAQuietGroupFromADeadOne) {
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  Follower follower(*n1.stub, {});
  ASSERT_TRUE(follower.ReadUntil([&] { return follower.snapshot_end; }));
  const int messages = follower.messages;
  ASSERT_TRUE(follower.ReadUntil([&] { return follower.messages >= messages + 2; }));
  EXPECT_EQ(follower.last.routes_size(), 0);
  EXPECT_GT(follower.last.complete_to(), 0);
  EXPECT_TRUE(follower.last.has_age());
}

TEST_F(RoutingServiceTest, RefusesMoreWatchersThanItsBound) {
  const Served n1(Options("n1"), {.max_watchers = 2});
  n1.AwaitLed("n1", 12);
  // Room is made when the waiting stream has ended.
  std::unique_ptr<Follower> one;
  std::unique_ptr<Follower> two;
  for (auto* follower : {&one, &two}) {
    do {
      *follower = std::make_unique<Follower>(*n1.stub, v1::WatchRoutesRequest());
    } while (!(*follower)->ReadUntil([&] { return (*follower)->snapshot_end; }));
  }
  Follower three(*n1.stub, {});
  const grpc::Status refused = three.Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("ask another"));
}

// Plan: a bound of 0 would refuse every router without a word at the start. It counts as 1.
TEST_F(RoutingServiceTest, HasRoomForOneWatcherAtLeast) {
  const Served n1(Options("n1"), {.max_watchers = 0});
  n1.AwaitLed("n1", 12);
  bool heard = false;  // the stream that waited may still have the place
  for (int tries = 0; tries < 1'000 && !heard; ++tries) {
    Follower follower(*n1.stub, {});
    heard = follower.ReadUntil([&] { return follower.snapshot_end; });
  }
  EXPECT_TRUE(heard);
}

// Plan: a stream ends with the service's status, unless its last message is in flight at that
// moment.
TEST_F(RoutingServiceTest, AStoppedNodeSendsItsCallersElsewhere) {
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  Follower follower(*n1.stub, {});
  ASSERT_TRUE(follower.ReadUntil([&] { return follower.snapshot_end; }));
  n1.node->Stop();
  EXPECT_THAT(follower.Finish().error_code(),
              AnyOf(grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::CANCELLED));
  v1::LookupRequest request;
  request.set_shard(1);
  v1::LookupResponse response;
  EXPECT_EQ(n1.Lookup(request, &response).error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Plan: n1 hands over everything and stays, as in a rolling restart. A shard moves between the
// other nodes. n1's stream tells of that move before it says that routes are complete up to there.
TEST_F(RoutingServiceTest, ADrainedNodeStillTellsWhatChanges) {
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  const Served n2(Options("n2"));
  const Served n3(Options("n3"));
  ASSERT_TRUE(n2.node->WaitReady(kPatience).ok());
  ASSERT_TRUE(n3.node->WaitReady(kPatience).ok());
  Follower first(*n1.stub, {});
  Follower second(*n2.stub, {});
  ASSERT_TRUE(first.ReadUntil([&] { return first.snapshot_end; }));
  ASSERT_TRUE(n1.node->Drain().ok());
  const auto led = [](Follower& follower) {
    return !follower.leaders[3].empty() && follower.leaders[3] != "n1" &&
           follower.routes[3].state() == v1::Route::STATE_LED;
  };
  ASSERT_TRUE(second.ReadUntil([&] { return led(second); }));
  const std::string to = second.leaders[3] == "n2" ? "n3" : "n2";
  Move(*n2.node, 3, to);
  ASSERT_TRUE(second.ReadUntil([&] { return led(second) && second.leaders[3] == to; }));
  ASSERT_TRUE(first.ReadUntil([&] { return first.complete_to >= second.routes[3].term(); }));
  EXPECT_EQ(first.leaders[3], to);
  EXPECT_EQ(first.routes[3].term(), second.routes[3].term());
}

// Plan: a caller asks for all routes and reads none of them. They take more than gRPC sends ahead.
// The server's shutdown ends anyway.
TEST_F(RoutingServiceTest, ACallerThatDoesNotReadHoldsUpNoShutdown) {
  NodeOptions options = Options("n1", 200'000);
  options.settle = std::chrono::hours(1);
  Served n1(options);
  ASSERT_TRUE(n1.node->WaitReady(kPatience).ok());
  grpc::ChannelArguments narrow;  // the server may send 64 kB ahead, on any connection
  narrow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  narrow.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1::RoutingService::NewStub(
      grpc::CreateCustomChannel(n1.address, grpc::InsecureChannelCredentials(), narrow));
  Follower idle(*stub, {});
  Follower reading(*n1.stub, {});
  ASSERT_TRUE(reading.ReadUntil([&] { return reading.snapshot_end; }));
  auto over = std::async(std::launch::async, [&] {
    n1.routing->Shutdown();
    n1.server->Shutdown();
  });
  EXPECT_EQ(over.wait_for(kPatience / 2), std::future_status::ready);
}

/// Counts batches with routes, and notes when all shards were led.
class Batches : public runtime::RouteObserver {
 public:
  explicit Batches(std::uint32_t shards) : led_(shards) {}
  void OnRoutes(const runtime::RouteBatch& batch) override {
    const std::lock_guard lock(mutex_);
    count_ += batch.routes.empty() ? 0 : 1;
    for (const runtime::ViewRoute& route : batch.routes) {
      led_[route.shard.value] = route.state == ShardState::kLed;
    }
    if (std::all_of(led_.begin(), led_.end(), [](bool led) { return led; }) && !told_) {
      told_ = true;
      all_led_.set_value(count_);
    }
  }
  void OnRoutesEnded(const Error&) override {}
  std::future<int> AllLed() { return all_led_.get_future(); }

 private:
  std::mutex mutex_;
  int count_ = 0;
  bool told_ = false;
  std::vector<bool> led_;
  std::promise<int> all_led_;
};

// 10,000 claims cause as many changes of the view, and twice as many of this node's own state.
// Observers get them in a hundredth as many batches.
TEST_F(RoutingServiceTest, AStormOfClaimsMakesFewBatches) {
  constexpr std::uint32_t kShards = 10'000;
  auto batches = std::make_shared<Batches>(kShards);
  auto all_led = batches->AllLed();
  auto started = Node::Start(Options("n1", kShards));
  ASSERT_TRUE(started.ok());
  started.value()->control().AddRouteObserver(batches);
  ASSERT_EQ(all_led.wait_for(kPatience), std::future_status::ready);
  EXPECT_LE(all_led.get(), 200);
}

// Plan: etcd stops. The stream reports stale routes; routes and lookups stay, and the shards are
// suspended. etcd comes back: the routes are current, and led again with the same terms.
TEST_F(RoutingServiceTest, WithoutEtcdRoutesAreStaleAndUsable) {
  const Served n1(Options("n1"));
  n1.AwaitLed("n1", 12);
  Follower follower(*n1.stub, {});
  ASSERT_TRUE(follower.AllLedBy("n1", 12));
  const std::int64_t term = follower.routes[7].term();
  etcd_->Kill(0);
  ASSERT_TRUE(follower.ReadUntil([&] {
    return follower.last.stale() && follower.routes[7].state() == v1::Route::STATE_SUSPENDED;
  }));
  EXPECT_EQ(follower.leaders[7], "n1");
  v1::LookupRequest request;
  request.set_shard(7);
  v1::LookupResponse response;
  ASSERT_TRUE(n1.Lookup(request, &response).ok());
  EXPECT_EQ(response.route().term(), term);
  EXPECT_GE(response.age().seconds(), 3);
  ASSERT_TRUE(etcd_->Restart(0).ok());
  ASSERT_TRUE(follower.ReadUntil([&] { return !follower.last.stale(); }));
  ASSERT_TRUE(follower.AllLedBy("n1", 12));
}

// Plan: callers of this host may only probe, later they may read.
TEST(RoutingAccess, BothMethodsNeedTheRoleRead) {
  runtime::FakeControl control{{"n1"}, 4};
  const auto access =
      std::make_shared<access::Access>(access::Access::Defaults{.this_host = access::Role::kProbe});
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto service = routing::RegisterRoutingService(
      builder, routing::RouteServer::Start(control), {access, nullptr});
  const auto server = builder.BuildAndStart();
  const auto stub = v1::RoutingService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  const auto lookup = [&] {
    grpc::ClientContext context;
    v1::LookupRequest request;  // names neither a shard nor a key
    v1::LookupResponse response;
    return stub->Lookup(&context, request, &response).error_code();
  };
  EXPECT_EQ(lookup(), grpc::StatusCode::PERMISSION_DENIED);
  const grpc::Status watched = Follower(*stub, {}).Finish();
  EXPECT_EQ(watched.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(watched.error_message(), HasSubstr("role read"));
  access->SetRules({.users = {}, .this_host = access::Role::kRead, .other_hosts = {}});
  EXPECT_EQ(lookup(), grpc::StatusCode::INVALID_ARGUMENT);
  service->Shutdown();
  server->Shutdown();
  server->Wait();
}

/// Has routes, so that a stream that is taken gets a message.
class ControlWithRoutes : public runtime::FakeControl {
 public:
  using FakeControl::FakeControl;
  void AddRouteObserver(std::shared_ptr<runtime::RouteObserver> observer) override {
    runtime::RouteBatch batch;
    batch.revision = Revision{7};
    batch.proven_at = Clock::Real().Now();
    batch.group = std::make_shared<runtime::RouteGroup>(
        runtime::RouteGroup{.group = "g", .server = "n1", .shards = 4, .incarnation = 1});
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      batch.routes.emplace_back().shard = ShardId{shard};
    }
    observer->OnRoutes(batch);
  }
};

// Plan: a caller has all of its share, and all who may only read have theirs; an operator gets in
// all the same. Each is known by a token.
TEST(RoutingAccess, ACallerWithAllOfItsShareLeavesRoomForOthersAndOperators) {
  ControlWithRoutes control{{"n1"}, 4};
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  access->SetRules({.tokens = {{"eve", access::DigestOf("eve"), access::Role::kRead},
                               {"bob", access::DigestOf("bob"), access::Role::kRead},
                               {"ops", access::DigestOf("ops"), access::Role::kOperate}}});
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto routes = routing::RouteServer::Start(control);
  const auto service = routing::RegisterRoutingService(builder, routes, {access, nullptr},
                                                       {.of_caller = 2, .of_readers = 3});
  const auto server = builder.BuildAndStart();
  const auto stub = v1::RoutingService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchRoutesResponse>>> readers;
  const auto open = [&](const std::string& token) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    contexts.back()->AddMetadata("authorization", "Bearer " + token);
    contexts.back()->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    readers.push_back(stub->WatchRoutes(contexts.back().get(), {}));
  };
  const auto taken = [&](const std::string& token) {
    open(token);
    v1::WatchRoutesResponse message;
    return readers.back()->Read(&message);
  };
  const auto refused = [&](const std::string& token) {
    return !taken(token) &&
           readers.back()->Finish().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  };
  EXPECT_TRUE(taken("eve"));
  EXPECT_TRUE(taken("eve"));
  EXPECT_TRUE(refused("eve"));
  EXPECT_TRUE(taken("bob"));
  EXPECT_TRUE(refused("bob"));
  EXPECT_TRUE(taken("ops"));
  for (const auto& context : contexts) context->TryCancel();
  service->Shutdown();
  server->Shutdown();
  server->Wait();
}

}  // namespace
}  // namespace baton
