// Runs `batonctl demo`, which shows what Baton does, on a temporary etcd and nodes of its own.
//
// Nodes start and balance. Two nodes join. Two nodes are killed, one of which has a guard. One node
// is stopped by SIGSTOP and continued, and one is drained. For each statement that it checks, the
// demo prints PASS or FAIL, and the measurement of an observer outside the nodes. FAIL means that
// something was incorrect or took too long. The bound of a time is TTL + 3 s; after a node with a
// guard was killed, half of the TTL. A very busy machine can cause a FAIL, too.
#pragma once

#include <chrono>
#include <cstdint>

namespace baton::app {

struct DemoOptions {
  static constexpr std::uint32_t kFewestNodes = 2;
  static constexpr std::uint32_t kMaxNodes = 50;
  static constexpr std::uint32_t kMaxShards = 100'000;
  static constexpr std::chrono::seconds kShortestTtl{2};
  static constexpr std::chrono::seconds kLongestTtl{60};

  std::uint32_t nodes = 3;  ///< at the start; two more join
  std::uint32_t shards = 1024;
  std::chrono::seconds ttl{5};  ///< the nodes' lease time
  bool keep = false;            ///< leave the cluster running at the end (see RunDemo)
  bool secure = false;          ///< TLS everywhere; the demo also replaces certificates
  bool color = false;
};

/// Runs the demo and returns batonctl's exit code: kDone; kFailed if a statement was false or the
/// demo can't go on; kInterrupted after Ctrl-C or SIGTERM. Uses only an etcd of its own. After a
/// FAIL, the folder with the logs stays. Ends its processes before it returns, with one exception.
/// If `keep` is set and the demo came to its end, even with a FAIL, the cluster goes on running.
/// RunDemo prints how to use the cluster and how to stop it. The killed nodes stay dead, and the
/// drained node stays drained.
///
/// REQUIRES (not checked): Interrupt::Install was called; the options are within the bounds of
/// DemoOptions; there are more shards than kMaxNodes; at most one of `keep` and `secure` is set.
/// The command line checks the options.
int RunDemo(DemoOptions options);

}  // namespace baton::app
