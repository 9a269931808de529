// A small service that embeds a node: it takes part in a group, counts for each shard it leads, and
// hands its shards over when it is told to stop.
//
//   embedded --etcd 127.0.0.1:2379 --group counters --shards 16 --node n1 --listen 127.0.0.1:7400
//
// `batonctl --endpoint 127.0.0.1:7400 status` shows the group; metrics go to standard output at the
// end. Ctrl-C or SIGTERM hands over and ends.
#include <baton/grpc.h>
#include <baton/node.h>
#include <baton/prometheus.h>
#include <grpcpp/grpcpp.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

// What this service does as a leader. Callbacks of one shard never overlap.
class Counting final : public baton::Listener {
 public:
  explicit Counting(std::uint32_t shards) : counts_(shards) {}

  void Prepare(baton::ShardId) override { ++prepared_; }
  void Acquired(baton::ShardId shard, baton::Term term) override {
    std::printf("leading shard %u, term %lld\n", shard.value, static_cast<long long>(term.value));
    std::fflush(stdout);
  }
  void Lost(baton::ShardId shard, baton::Term, baton::Reason reason) override {
    std::printf("no longer leading shard %u: %s\n", shard.value, ToString(reason));
    std::fflush(stdout);
  }

  /// One unit of work: fenced by the term wherever it leaves this process.
  void Work(const baton::Node& node) {
    for (std::uint32_t s = 0; s < counts_.size(); ++s) {
      if (node.Leads(baton::ShardId{s})) ++counts_[s];
    }
  }

 private:
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<std::uint64_t> prepared_{0};
};

std::map<std::string, std::string> Flags(int argc, char** argv) {
  std::map<std::string, std::string> flags = {{"etcd", "127.0.0.1:2379"},
                                              {"group", "counters"},
                                              {"shards", "16"},
                                              {"node", "n1"},
                                              {"listen", "127.0.0.1:7400"}};
  for (int i = 1; i + 1 < argc; i += 2) flags[std::string(argv[i]).substr(2)] = argv[i + 1];
  return flags;
}

}  // namespace

int main(int argc, char** argv) {
  // Signals are taken by sigtimedwait below, so they are blocked before any thread starts.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto flags = Flags(argc, argv);
  baton::NodeOptions options;
  options.group = flags["group"];
  options.shards = static_cast<std::uint32_t>(std::stoul(flags["shards"]));
  options.node = flags["node"];
  options.etcd.endpoints = {flags["etcd"]};
  options.address = flags["listen"];

  auto listener = std::make_shared<Counting>(options.shards);
  auto started = baton::Node::Start(options, listener);
  if (!started) {
    std::cerr << started.error().message << "\n";
    return 1;
  }
  baton::Node& node = *started.value();

  grpc::ServerBuilder builder;
  builder.AddListeningPort(flags["listen"], grpc::InsecureServerCredentials());
  auto admin = baton::RegisterAdminService(builder, node);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "cannot listen on " << flags["listen"] << "; choose another --listen\n";
    return 1;
  }
  prometheus::Registry registry;
  auto metrics = baton::RegisterMetrics(registry, node);
  if (!metrics) {
    std::cerr << metrics.error().message << "\n";
    return 1;
  }

  const timespec pause{0, 100'000'000};
  while (sigtimedwait(&signals, nullptr, &pause) < 0) listener->Work(node);

  metrics.value()->Refresh();
  std::cout << prometheus::TextSerializer().Serialize(registry.Collect()) << std::flush;
  const baton::Status drained = node.Drain();
  if (!drained) std::cerr << drained.error().message << "\n";
  server->Shutdown();
  server->Wait();
  return drained.ok() ? 0 : 1;
}
