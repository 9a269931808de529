// A sharded service: each order is taken by the leader of its customer's shard.
//
//   orders_service n1 127.0.0.1:7400
//   orders_service n2 127.0.0.1:7410 127.0.0.1:2379
//
// The arguments: the node's name, the address at which others reach it, etcd's (127.0.0.1:2379 if
// absent), and the address on which it listens (if absent, the one at which others reach it).
// SIGTERM or Ctrl-C hands all shards over to the other nodes, prints the metrics, and ends the
// program.
//
// It keeps orders in memory, so a shard's orders are forgotten when the shard moves. A service that
// keeps them writes to storage that checks the term: see docs/guarantees.md and examples/kv.
#include <baton/grpc.h>
#include <baton/node.h>
#include <baton/owner_guard.h>
#include <baton/prometheus.h>
#include <grpcpp/grpcpp.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "orders.grpc.pb.h"
#include "stop_signals.h"

using namespace std::chrono_literals;
using baton::Reason, baton::ShardId, baton::Term;

// [shards]
// This process's work on its shards. All work on a shard holds the shard's mutex, so closing
// it waits for the work in progress, and nothing begins afterwards.
class Shards final : public baton::Listener {
 public:
  struct Shard {
    std::mutex mutex;
    Term term;  // the shard is open in this term
    std::int64_t placed = 0, shipped = 0;
  };
  explicit Shards(std::uint32_t count) : shards_(count) {}

  // Runs `work` if the shard is open in this term.
  bool Work(ShardId id, Term term, const std::function<void(Shard&)>& work) {
    Shard& shard = shards_[id.value];
    const std::lock_guard lock(shard.mutex);
    if (shard.term != term) return false;
    work(shard);
    return true;
  }

  // [callbacks]
  // Load the shard's state here; requests and jobs come after it returns.
  void Acquired(ShardId id, Term term) override { Open(id, term); }
  // The shard is about to be handed over: finish the work in progress, save the state.
  void Releasing(ShardId id, Term) override { Open(id, Term{}); }
  // Clean up. Another node may lead the shard by now, so write nothing here.
  void Lost(ShardId id, Term, Reason) override { Open(id, Term{}); }
  // etcd can't be reached. Leads() and the guard say no until Resumed, so this only logs it.
  void Suspended(ShardId id, Term) override { std::clog << "pausing shard " << id.value << "\n"; }
  void Resumed(ShardId id, Term) override { std::clog << "resuming shard " << id.value << "\n"; }
  // This node never leads again: end the process.
  void Halted(const baton::Error&) override { kill(getpid(), SIGTERM); }
  // [/callbacks]

 private:
  // In term 0 the shard is closed.
  void Open(ShardId id, Term term) {
    const std::lock_guard lock(shards_[id.value].mutex);
    shards_[id.value].term = term;
  }

  std::vector<Shard> shards_;
};
// [/shards]

class OrdersService final : public orders::Orders::Service {
 public:
  OrdersService(std::string name, baton::Node& node, Shards& shards)
      : name_(std::move(name)), guard_(node), shards_(shards) {}

  // [handler]
  grpc::Status Place(grpc::ServerContext* context, const orders::PlaceRequest* request,
                     orders::PlaceResponse* response) override {
    // [check]
    baton::Owned owned;  // the request's shard, and the term in which this node leads it
    grpc::Status refused = guard_.Check(*context, request->customer(), &owned);
    if (!refused.ok()) return refused;  // it names the leader, so the caller's Router goes there
    // [/check]
    const bool open = shards_.Work(owned.shard, owned.term, [&](Shards::Shard& shard) {
      response->set_number(++shard.placed);  // real storage checks owned.term and owned.request_id
    });
    if (!open) return baton::NoLeaderStatus(owned.shard, "it is being handed over", 10ms);
    response->set_node(name_);
    return grpc::Status::OK;
  }
  // [/handler]

 private:
  const std::string name_;
  baton::OwnerGuard guard_;
  Shards& shards_;
};

// [job]
// Work that no request asks for. `activated` says that Acquired has returned, so the shard's state
// is loaded; `leads` may be true earlier.
void Ship(const baton::Node& node, std::uint32_t count, Shards& shards) {
  for (std::uint32_t id = 0; id < count; ++id) {
    // [activated]
    const baton::Leadership mine = node.Leadership(ShardId{id});
    if (!mine.activated) continue;
    shards.Work(mine.shard, mine.term, [](Shards::Shard& shard) { shard.shipped = shard.placed; });
    // [/activated]
  }
}
// [/job]

int Fail(const std::string& why) {
  std::cerr << why << "\n";
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return Fail("usage: orders_service NODE ADDRESS [ETCD [LISTEN]]");
  StopSignals signals;  // first, before any thread starts

  // [start]
  baton::NodeOptions options;
  options.group = "orders";
  options.shards = 16;        // fixed when the group is created
  options.node = argv[1];     // stable across restarts
  options.address = argv[2];  // at which callers and batonctl reach this program: no 0.0.0.0
  options.etcd.endpoints = {argc > 3 ? argv[3] : "127.0.0.1:2379"};
  const std::string listen = argc > 4 ? argv[4] : options.address;  // may be 0.0.0.0:7400
  const auto shards = std::make_shared<Shards>(options.shards);
  auto started = baton::Node::Start(options, shards);
  if (!started) return Fail(started.error().message);
  baton::Node& node = *started.value();

  OrdersService service(options.node, node, *shards);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials());
  baton::LimitServer(builder);  // bounds what unknown callers can cost the server
  builder.RegisterService(&service);
  const auto admin = baton::RegisterAdminService(builder, node);      // serves batonctl
  const auto routing = baton::RegisterRoutingService(builder, node);  // tells Routers who leads
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return Fail("cannot listen on " + listen);
  // [/start]

  // [metrics]
  // A program with a prometheus::Exposer gives it metrics.node, beside its registry.
  const baton::MetricsCollectables metrics = baton::Collectables(node);
  // [/metrics]

  // [stop]
  while (!signals.Arrive(100ms)) Ship(node, options.shards, *shards);

  const baton::Status drained = node.Drain();  // the other nodes take over
  node.Stop();  // ends the streams of Routers and batonctl, for which Shutdown would wait
  server->Shutdown(std::chrono::system_clock::now() + 5s);
  // [/stop]
  server->Wait();
  std::cout << prometheus::TextSerializer().Serialize(metrics.node->Collect());
  return drained.ok() ? 0 : Fail(drained.error().message);
}
