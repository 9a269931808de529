// Nodes under measurement: in this process, and as separate daemons.
//
// Main thread only. A wait that exceeds its bound throws std::runtime_error.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/subprocess.h"
#include "baton/node.h"
#include "lab/private_etcd.h"

namespace baton::bench {

std::unique_ptr<lab::PrivateEtcd> StartEtcd();
std::string EndpointOf(const lab::PrivateEtcd& etcd);

/// Polls with that pause in between; throws, naming `what`, if it takes longer than a minute or
/// two.
void Await(const char* what, const std::function<bool()>& condition,
           std::chrono::microseconds pause = std::chrono::microseconds(100));

double Milliseconds(Duration duration);
double Seconds(Duration duration);

/// Defaults, except the group, its size, and a cold start that only `expect_nodes` ends.
NodeOptions OptionsFor(const lab::PrivateEtcd& etcd, const std::string& group, const NodeId& node,
                       std::uint32_t shards, std::uint32_t expect_nodes);
std::unique_ptr<Node> StartNode(const NodeOptions& options);

/// How many of the first `shards` shards the node leads by Leads().
std::uint32_t CountLed(const Node& node, std::uint32_t shards);
/// Whether every shard is led by exactly one of the nodes, and their counts differ by one at most.
bool LedAndBalanced(const std::vector<std::unique_ptr<Node>>& nodes, std::uint32_t shards);

/// A batond as a separate process, on free ports.
struct DaemonOptions {
  std::string program;
  std::string endpoint;
  std::string group;
  NodeId node;
  std::uint32_t shards = 0;
  std::uint32_t expect_nodes = 3;
  std::chrono::seconds ttl{10};
  std::string settle = "600s";  ///< so that only `expect_nodes` ends a cold start
  std::string folder;           ///< of its log and state
  std::string guard = "off";    ///< with one, a killed node's lease would not play a part
  std::vector<std::string> more = {};
};
std::unique_ptr<Subprocess> StartDaemon(const DaemonOptions& options);

/// By node.
using Processes = std::map<NodeId, std::unique_ptr<Subprocess>>;
/// SIGTERM for all, and waits for their ends.
void StopInOrder(const Processes& processes);

}  // namespace baton::bench
