// Standbys on their way from a node's application to callers: real nodes, a real etcd, the service
// of routes and a router.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baton/grpc.h"
#include "baton/node.h"
#include "baton/router.h"
#include "baton/v1/routing.grpc.pb.h"
#include "lab/private_etcd.h"
#include "routing/scripted_routes.h"
#include "runtime/control.h"

namespace baton::routing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kShards = 4;

/// Notes for which shards the node stands by.
class StandsBy : public Listener {
 public:
  void Standby(ShardId shard) override {
    const std::lock_guard lock(mutex_);
    shards_.insert(shard.value);
  }
  void StandbyEnded(ShardId shard) override {
    const std::lock_guard lock(mutex_);
    shards_.erase(shard.value);
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return shards_.size();
  }

 private:
  std::mutex mutex_;
  std::set<std::uint32_t> shards_;
};

/// A node that serves its routes. The test's router never calls its service address.
struct RoutingNode {
  RoutingNode(NodeOptions options, std::shared_ptr<Listener> listener) {
    auto started = Node::Start(std::move(options), std::move(listener));
    EXPECT_TRUE(started.ok()) << started.error().message;
    node = std::move(started).value();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    service = RegisterRoutingService(builder, *node);
    server = builder.BuildAndStart();
    address = "127.0.0.1:" + std::to_string(port);
  }
  ~RoutingNode() {
    service->Shutdown();
    server->Shutdown();
    server->Wait();
  }

  std::uint32_t Leading() const {
    std::uint32_t count = 0;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      count += node->Leadership(ShardId{shard}).activated ? 1 : 0;
    }
    return count;
  }
  v1::LookupResponse Lookup(std::uint32_t shard) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::LookupRequest request;
    request.set_shard(shard);
    v1::LookupResponse response;
    const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    const auto status = v1::RoutingService::NewStub(channel)->Lookup(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  std::unique_ptr<Node> node;
  std::unique_ptr<RoutingService> service;
  std::unique_ptr<grpc::Server> server;
  std::string address;
};

NodeOptions OptionsOf(const lab::PrivateEtcd& etcd, const NodeId& node) {
  NodeOptions options;
  options.group = "orders";
  options.shards = kShards;
  options.node = node;
  options.service_address = node + ":7500";
  options.etcd.endpoints = etcd.endpoints();
  options.ttl = seconds(5);
  options.settle = milliseconds(200);
  options.rebalance_delay = std::chrono::hours(1);
  return options;
}

Status SetRules(Node& node, Placement placement) {
  std::promise<Status> answer;
  node.control().Request(
      runtime::GroupChangeRequest{.placement = std::move(placement), .actor = "test"},
      [&](const Status& status) { answer.set_value(status); });
  return answer.get_future().get();
}

// Plan: n1 leads all shards before n2 comes, and no balance follows. Then a rule asks for one
// standby, which can only be n2. A router that follows n1 hears of it, and later that it is ready
// for one shard. A lookup says the same. Without the rule there is no standby.
TEST(StandbyRoutes, ReachCallers) {
  auto etcd = lab::PrivateEtcd::Start({});
  ASSERT_TRUE(etcd.ok()) << etcd.error().message;
  const RoutingNode n1(OptionsOf(*etcd.value(), "n1"), nullptr);
  ASSERT_TRUE(Until([&] { return n1.Leading() == kShards; }));
  const auto duties = std::make_shared<StandsBy>();
  const RoutingNode n2(OptionsOf(*etcd.value(), "n2"), duties);
  ASSERT_TRUE(n2.node->WaitReady(kPatience).ok());
  auto router = Router::Start({.group = "orders", .endpoints = {n1.address}});
  ASSERT_TRUE(router.ok()) << router.error().message;
  ASSERT_TRUE((*router)->WaitReady(kPatience).ok());
  EXPECT_TRUE((*router)->Standbys(ShardId{2}).empty());

  const Status set =
      SetRules(*n1.node, {{.shards = {}, .require = {}, .prefer = {}, .standbys = 1}});
  ASSERT_TRUE(set.ok()) << set.error().message;
  const std::vector<RouteStandby> loading = {{"n2", "n2:7500", false}};
  const std::vector<RouteStandby> ready = {{"n2", "n2:7500", true}};
  ASSERT_TRUE(Until([&] { return (*router)->Standbys(ShardId{2}) == loading; }));
  ASSERT_TRUE(Until([&] { return duties->count() == kShards; }));
  n2.node->SetStandbyReady(ShardId{2}, true);
  ASSERT_TRUE(Until([&] { return (*router)->Standbys(ShardId{2}) == ready; }));
  EXPECT_EQ((*router)->Standbys(ShardId{3}), loading);
  EXPECT_EQ((*router)->Owner(ShardId{2}).leader, "n1");

  const v1::LookupResponse answer = n1.Lookup(2);
  EXPECT_EQ(answer.leader().node(), "n1");
  ASSERT_EQ(answer.standbys_size(), 1);
  EXPECT_EQ(answer.standbys(0).node(), "n2");
  EXPECT_EQ(answer.standbys(0).address(), "n2:7500");
  ASSERT_EQ(answer.route().standbys_size(), 1);
  EXPECT_TRUE(answer.route().standbys(0).ready());

  ASSERT_TRUE(SetRules(*n1.node, {}).ok());
  EXPECT_TRUE(Until([&] { return (*router)->Standbys(ShardId{2}).empty(); }));
}

}  // namespace
}  // namespace baton::routing
