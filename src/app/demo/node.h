// Runs `batonctl demo-node`: one node of a demo, in a process of its own. It embeds a node as an
// application does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "baton/types.h"

namespace baton::app {

/// The demo's rebalance delay and cooldown are shorter than the defaults, to save time.
inline constexpr std::chrono::milliseconds kDemoRebalanceDelay{1000};
inline constexpr std::chrono::milliseconds kDemoCooldown{0};
inline constexpr const char* kDemoGroup = "demo";

struct DemoNodeOptions {
  NodeId node;
  std::string etcd;               ///< host:port
  std::string folder;             ///< has `<node>.board`; the node's state directory is made in it
  std::string certificates = {};  ///< folder of DemoCertificates; empty: no TLS, no HTTP
  std::uint32_t shards = 0;
  std::uint32_t expect_nodes = 1;
  bool guarded = false;  ///< whether the node has a guard of its own
  std::chrono::seconds ttl{5};
};

/// Runs until SIGTERM or SIGINT, and then drains the node. Returns the exit code:
///  - 0: the node ran. If the drain failed, the log says so.
///  - 1: the node could not start. The log says why, and the board shows kHalted.
/// If the node halts later, the board shows kHalted, and the process goes on until a signal.
/// REQUIRES (not checked): called from main, after Interrupt::Install; DemoBoard::Create made the
/// board's file.
int RunDemoNode(const DemoNodeOptions& options);

/// The prefix of the application's own keys in etcd. There is one key for each shard. Guarded
/// writes go to these keys.
inline constexpr const char* kDemoDataPrefix = "/demo-data/";
std::string DemoBoardPath(const std::string& folder, const NodeId& node);

}  // namespace baton::app
