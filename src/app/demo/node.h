// `batonctl demo-node`: one node of a demo. It is a process of its own that embeds a node as an
// application does. `batonctl demo` starts it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "baton/types.h"

namespace baton::app {

/// Settings that differ from the defaults, so that the demo doesn't take minutes.
inline constexpr std::chrono::milliseconds kDemoRebalanceDelay{1000};
inline constexpr std::chrono::milliseconds kDemoCooldown{0};
inline constexpr const char* kDemoGroup = "demo";

struct DemoNodeOptions {
  NodeId node;
  std::string etcd;               ///< host:port
  std::string folder;             ///< holds `<node>.board` and the node's state
  std::string certificates = {};  ///< folder of DemoCertificates; empty: nothing is secured
  std::uint32_t shards = 0;
  std::uint32_t expect_nodes = 1;
  bool guarded = false;  ///< it has a guard of its own
  std::chrono::seconds ttl{5};
};

/// Runs until SIGTERM or SIGINT, then drains. Returns the exit code.
int RunDemoNode(const DemoNodeOptions& options);

/// The application's own keys in etcd, one for each shard. Its guarded writes go there.
inline constexpr const char* kDemoDataPrefix = "/demo-data/";
std::string DemoBoardPath(const std::string& folder, const NodeId& node);

}  // namespace baton::app
