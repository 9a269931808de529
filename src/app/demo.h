// `batonctl demo`: the main job, shown on a private throw-away etcd and nodes of its own.
#pragma once

#include <chrono>
#include <cstdint>

namespace baton::app {

struct DemoOptions {
  std::uint32_t nodes = 3;
  std::uint32_t shards = 12;
  std::chrono::seconds ttl{5};  ///< of the nodes' leases
  bool keep = false;            ///< leave the cluster up and say how to talk to it
  bool color = false;
};

/// Runs it to its end and answers batonctl's exit code. Touches no etcd but its own.
int RunDemo(DemoOptions options);

}  // namespace baton::app
