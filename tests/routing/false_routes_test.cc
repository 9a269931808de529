// A false server of routes, and then a real node at its port, with a real etcd: how long a router
// believes the false server.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baton/grpc.h"
#include "baton/node.h"
#include "baton/router.h"
#include "baton/v1/routing.grpc.pb.h"
#include "lab/private_etcd.h"
#include "routing/scripted_routes.h"

namespace baton::routing {
namespace {

constexpr std::uint32_t kShards = 4;
constexpr std::int64_t kFalse = std::int64_t{1} << 62;

/// Serves a node's routes at one port.
struct Server {
  Server(Node& node, int port) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                             &bound);
    service = RegisterRoutingService(builder, node);
    server = builder.BuildAndStart();
  }
  ~Server() {
    service->Shutdown();
    server->Shutdown();
    server->Wait();
  }

  int bound = 0;
  std::unique_ptr<RoutingService> service;
  std::unique_ptr<grpc::Server> server;
};

/// The first message of a stream, as anybody may read it.
v1::WatchRoutesResponse FirstOfStream(int port) {
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::WatchRoutesResponse first;
  const auto reader = v1::RoutingService::NewStub(channel)->WatchRoutes(&context, {});
  EXPECT_TRUE(reader->Read(&first));
  context.TryCancel();
  return first;
}

std::unique_ptr<Node> StartNode(const lab::PrivateEtcd& etcd) {
  NodeOptions options;
  options.group = "orders";
  options.shards = kShards;
  options.node = "n1";
  options.service_address = "n1:7500";
  options.etcd.endpoints = etcd.endpoints();
  options.ttl = std::chrono::seconds(3);
  options.settle = std::chrono::milliseconds(200);
  auto started = Node::Start(std::move(options));
  EXPECT_TRUE(started.ok()) << started.error().message;
  return std::move(started).value();
}

bool LeadsAll(const Node& node) {
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    if (!node.Leadership(ShardId{shard}).activated) return false;
  }
  return true;
}

// Plan: a false server repeats the node's first message, with its own address for all shards, and
// with revisions that etcd does not have, or with the node's own ones. A router follows it. Then
// the node serves at the same port: the router knows the true leader of each shard.
TEST(FalseRoutes, EndWithTheCheckOfARealNode) {
  auto etcd = lab::PrivateEtcd::Start({});
  ASSERT_TRUE(etcd.ok()) << etcd.error().message;
  const auto node = StartNode(*etcd.value());
  ASSERT_TRUE(Until([&] { return LeadsAll(*node); }));
  const Server honest(*node, 0);
  for (const bool true_revisions : {false, true}) {
    v1::WatchRoutesResponse said = FirstOfStream(honest.bound);
    ASSERT_TRUE(said.snapshot_end());
    for (v1::RouteNode& named : *said.mutable_nodes()) named.set_address("evil:1");
    if (!true_revisions) {
      said.set_complete_to(kFalse);
      for (v1::Route& route : *said.mutable_routes()) route.set_revision(kFalse);
    }
    ScriptedRoutes evil;
    evil.Greet(said);
    auto router = Router::Start({.group = "orders", .endpoints = {evil.address()}});
    ASSERT_TRUE(router.ok());
    ASSERT_TRUE((*router)->WaitReady(kPatience).ok());
    EXPECT_EQ((*router)->Owner(ShardId{0}).address, "evil:1");
    evil.Stop();
    const Server back(*node, evil.port());
    ASSERT_EQ(back.bound, evil.port());
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_TRUE(Until([&] { return (*router)->Owner(ShardId{shard}).address == "n1:7500"; }));
    }
    EXPECT_LT((*router)->Age().revision.value, kFalse);
    EXPECT_EQ((*router)->counters().snapshots, 2u);
  }
}

}  // namespace
}  // namespace baton::routing
