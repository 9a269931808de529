// `batonctl demo-node`: one node of a demo. `batonctl demo` starts it as a process of its own. It
// embeds a node as an application does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "baton/types.h"

namespace baton::app {

/// The demo's rebalance delay and cooldown differ from the defaults, so that it doesn't take
/// minutes.
inline constexpr std::chrono::milliseconds kDemoRebalanceDelay{1000};
inline constexpr std::chrono::milliseconds kDemoCooldown{0};
inline constexpr const char* kDemoGroup = "demo";

struct DemoNodeOptions {
  NodeId node;
  std::string etcd;               ///< host:port
  std::string folder;             ///< has `<node>.board` and the node's state directory
  std::string certificates = {};  ///< folder of DemoCertificates; empty: no TLS, no HTTP
  std::uint32_t shards = 0;
  std::uint32_t expect_nodes = 1;
  bool guarded = false;  ///< whether the node has a guard of its own
  std::chrono::seconds ttl{5};
};

/// Runs until SIGTERM or SIGINT, then drains. Returns the exit code: 0, also if the drain fails
/// (which is logged); 1 if the node can't start (which is logged, and which the board shows as
/// kHalted). If the node halts later, the board shows this, and the process goes on until a signal.
/// REQUIRES: called from main, after Interrupt::Install; DemoBoard::Create made the board's file.
int RunDemoNode(const DemoNodeOptions& options);

/// The prefix of the application's own keys in etcd, one for each shard. Guarded writes go to them.
inline constexpr const char* kDemoDataPrefix = "/demo-data/";
std::string DemoBoardPath(const std::string& folder, const NodeId& node);

}  // namespace baton::app
