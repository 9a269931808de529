// `batonctl demo`: the main job, shown on a private throw-away etcd and nodes of its own.
//
// Nodes start and balance, one joins, one is killed, one is stopped and woken, one is drained; each
// claim is a line, PASS or FAIL, with what was measured by an observer outside the nodes. FAIL is
// for correctness and for times beyond TTL + 3 s, never for mere slowness.
#pragma once

#include <chrono>
#include <cstdint>

namespace baton::app {

struct DemoOptions {
  static constexpr std::uint32_t kFewestNodes = 2;
  static constexpr std::uint32_t kMostNodes = 50;
  static constexpr std::uint32_t kMostShards = 100'000;
  static constexpr std::chrono::seconds kShortestTtl{2};
  static constexpr std::chrono::seconds kLongestTtl{60};

  std::uint32_t nodes = 3;  ///< at first; one more joins
  std::uint32_t shards = 1024;
  std::chrono::seconds ttl{5};  ///< of the nodes' leases
  bool keep = false;            ///< leave the cluster up and say how to talk to it
  bool color = false;
};

/// Runs it to its end and answers batonctl's exit code. Touches no etcd but its own.
int RunDemo(DemoOptions options);

}  // namespace baton::app
