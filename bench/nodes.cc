#include "bench/nodes.h"

#include <signal.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace baton::bench {
namespace {

constexpr std::chrono::seconds kAwaitBound{120};
constexpr std::chrono::seconds kStopBound{60};
// Never reached: the expected number of nodes ends the cold start.
constexpr std::chrono::minutes kSettle{10};

}  // namespace

std::unique_ptr<lab::PrivateEtcd> StartEtcd() {
  auto started = lab::PrivateEtcd::Start({});
  if (!started) throw std::runtime_error(started.error().message);
  return std::move(started).value();
}

std::string EndpointOf(const lab::PrivateEtcd& etcd) { return etcd.endpoints().front(); }

void Await(const char* what, const std::function<bool()>& condition,
           std::chrono::microseconds pause) {
  const TimePoint deadline = BootClock::now() + kAwaitBound;
  while (!condition()) {
    if (BootClock::now() >= deadline) throw std::runtime_error(std::string("in vain: ") + what);
    std::this_thread::sleep_for(pause);
  }
}

double Milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

NodeOptions OptionsFor(const lab::PrivateEtcd& etcd, const std::string& group, const NodeId& node,
                       std::uint32_t shards, std::uint32_t expect_nodes) {
  NodeOptions options;
  options.group = group;
  options.node = node;
  options.shards = shards;
  options.etcd.endpoints = etcd.endpoints();
  options.expect_nodes = expect_nodes;
  options.settle = kSettle;
  return options;
}

std::unique_ptr<Node> StartNode(const NodeOptions& options) {
  auto started = Node::Start(options);
  if (!started) throw std::runtime_error(started.error().message);
  return std::move(started).value();
}

std::uint32_t CountLed(const Node& node, std::uint32_t shards) {
  std::uint32_t led = 0;
  for (std::uint32_t shard = 0; shard < shards; ++shard) led += node.Leads(ShardId{shard}) ? 1 : 0;
  return led;
}

bool LedAndBalanced(const std::vector<std::unique_ptr<Node>>& nodes, std::uint32_t shards) {
  std::vector<std::uint32_t> counts(nodes.size(), 0);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    std::uint32_t leaders = 0;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (!nodes[node]->Leads(ShardId{shard})) continue;
      ++leaders;
      ++counts[node];
    }
    if (leaders > 1) throw std::runtime_error("two nodes lead a shard");
    if (leaders == 0) return false;
  }
  const auto [least, greatest] = std::minmax_element(counts.begin(), counts.end());
  return *greatest - *least <= 1;
}

std::unique_ptr<Subprocess> StartDaemon(const DaemonOptions& options) {
  std::vector<std::string> line = {options.program,
                                   "--group",
                                   options.group,
                                   "--node",
                                   options.node,
                                   "--shards",
                                   std::to_string(options.shards),
                                   "--etcd",
                                   options.endpoint,
                                   "--listen",
                                   "127.0.0.1:0",
                                   "--http",
                                   "127.0.0.1:0",
                                   "--ttl",
                                   std::to_string(options.ttl.count()) + "s",
                                   "--expect-nodes",
                                   std::to_string(options.expect_nodes),
                                   "--settle",
                                   options.settle,
                                   "--guard",
                                   options.guard,
                                   "--log-level",
                                   "warn",
                                   "--state-dir",
                                   options.folder + "/" + options.node};
  line.insert(line.end(), options.more.begin(), options.more.end());
  auto started = Subprocess::Start({.arguments = line,
                                    .environment = {},
                                    .output_path = options.folder + "/" + options.node + ".log",
                                    .lifetime = ChildLifetime::kDiesWithStartingThread});
  if (!started) throw std::runtime_error(started.error().message);
  return std::move(started).value();
}

void StopInOrder(const Processes& processes) {
  for (const auto& [name, process] : processes) process->Signal(SIGTERM);
  for (const auto& [name, process] : processes) {
    if (!process->Wait(BootClock::now() + kStopBound)) {
      throw std::runtime_error("a process does not stop");
    }
  }
}

}  // namespace baton::bench
