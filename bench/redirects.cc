// Part (j): what a stale route costs its caller. The router believes that shard 0 is led by a
// server that has lost it and answers NOT_LEADER with the new leader's address; it knows the leader
// of shard 1. A plain stub makes the same requests for comparison: one, and one after a refused
// one.
#include <grpcpp/grpcpp.h>

#include <functional>
#include <stdexcept>
#include <thread>

#include "baton/owner_guard.h"
#include "baton/router.h"
#include "baton/v1/routing.grpc.pb.h"
#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

constexpr int kCalls = 2'000;  // of each kind, in turns of kTurn
constexpr int kTurn = 100;
constexpr ShardId kStale{0};
constexpr ShardId kKnown{1};

/// Lookup stands in for an application's method.
class Server final : public v1::RoutingService::Service {
 public:
  using Handler = std::function<grpc::Status()>;
  using Routes = std::function<v1::WatchRoutesResponse()>;

  Server(Handler handler, Routes routes)
      : handler_(std::move(handler)), routes_(std::move(routes)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) throw std::runtime_error("can't serve gRPC on loopback");
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~Server() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const { return address_; }

 private:
  grpc::Status Lookup(grpc::ServerContext*, const v1::LookupRequest*,
                      v1::LookupResponse*) override {
    return handler_();
  }
  grpc::Status WatchRoutes(grpc::ServerContext* context, const v1::WatchRoutesRequest*,
                           grpc::ServerWriter<v1::WatchRoutesResponse>* writer) override {
    writer->Write(routes_());
    // Speaks often enough that the router stays with it.
    v1::WatchRoutesResponse word;
    while (!context->IsCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      writer->Write(word);
    }
    return grpc::Status::OK;
  }

  const Handler handler_;
  const Routes routes_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

void AddRoute(v1::WatchRoutesResponse& message, ShardId shard, const std::string& address) {
  v1::RouteNode& node = *message.add_nodes();
  node.set_node("node" + std::to_string(message.nodes_size()));
  node.set_address(address);
  v1::Route& route = *message.add_routes();
  route.set_shard(shard.value);
  route.set_leader(static_cast<std::uint32_t>(message.nodes_size()));
  route.set_term(10);
  route.set_revision(10);
  route.set_state(v1::Route::STATE_LED);
}

/// One way to make a call, and how long each took.
struct Way {
  std::string what;
  std::function<void()> call;
  std::vector<double> microseconds = {};
  Series p50 = {}, p99 = {};

  void Take(int calls) {
    for (int i = 0; i < calls; ++i) {
      const TimePoint begun = BootClock::now();
      call();
      microseconds.push_back(1000 * Milliseconds(BootClock::now() - begun));
    }
  }
  void EndRepeat() {
    p50.Add(Percentile(microseconds, 50));
    p99.Add(Percentile(microseconds, 99));
    microseconds.clear();
  }
};

grpc::StatusCode Ask(v1::RoutingService::Stub& stub) {
  grpc::ClientContext context;
  v1::LookupResponse response;
  return stub.Lookup(&context, {}, &response).error_code();
}

void AskRouter(Router& router, ShardId shard) {
  v1::LookupRequest request;
  v1::LookupResponse response;
  const grpc::Status status =
      router.Call(shard, &v1::RoutingService::Stub::Lookup, request, &response);
  if (!status.ok()) throw std::runtime_error("a call failed: " + status.error_message());
}

std::unique_ptr<v1::RoutingService::Stub> StubOf(const std::string& address) {
  return v1::RoutingService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

}  // namespace

void MeasureRedirects(const Settings& settings, Report& report) {
  const Server leader([] { return grpc::Status::OK; }, [] { return v1::WatchRoutesResponse(); });
  const Server former(
      [&] {
        return NotLeaderStatus(
            {.shard = kStale, .leader = "node2", .address = leader.address(), .term = Term{11}});
      },
      [] { return v1::WatchRoutesResponse(); });
  const Server routes([] { return grpc::Status::OK; },
                      [&] {
                        v1::WatchRoutesResponse all;
                        all.set_group("bench");
                        all.mutable_mapping()->set_shards(2);
                        all.mutable_mapping()->set_hash(v1::KeyMapping::HASH_MURMUR2);
                        all.set_cluster(1);
                        all.set_server("bench");
                        AddRoute(all, kStale, former.address());
                        AddRoute(all, kKnown, leader.address());
                        all.set_snapshot_end(true);
                        all.set_complete_to(10);
                        return all;
                      });
  const auto router = Router::Start({.group = "bench", .endpoints = {routes.address()}});
  if (!router) throw std::runtime_error(router.error().message);
  if (const Status ready = router.value()->WaitReady(std::chrono::seconds(30)); !ready) {
    throw std::runtime_error(ready.error().message);
  }
  const auto to_leader = StubOf(leader.address());
  const auto to_former = StubOf(former.address());
  Way ways[] = {{"Router::Call, redirected once", [&] { AskRouter(*router.value(), kStale); }},
                {"Router::Call, direct", [&] { AskRouter(*router.value(), kKnown); }},
                {"a plain stub, refused and then served",
                 [&] {
                   Ask(*to_former);
                   Ask(*to_leader);
                 }},
                {"a plain stub, served", [&] { Ask(*to_leader); }}};
  for (Way& way : ways) way.call();  // connects
  for (int i = 0; i < settings.repeat; ++i) {
    for (int turn = 0; turn < kCalls / kTurn; ++turn) {
      for (Way& way : ways) way.Take(kTurn);
    }
    for (Way& way : ways) way.EndRepeat();
  }
  for (const Way& way : ways) {
    report.Add({"j", way.what + ", p50", "us", way.p50, "one at a time, all in one process"});
    report.Add({"j", way.what + ", p99", "us", way.p99});
  }
  report.Add({"j", "  redirected / direct, p50", "x", Ratio(ways[0].p50, ways[1].p50)});
  report.Add({"j", "  redirected / the stub's two, p50", "x", Ratio(ways[0].p50, ways[2].p50)});
  report.Add({"j", "  direct / the stub's one, p50", "x", Ratio(ways[1].p50, ways[3].p50)});
}

}  // namespace baton::bench
