// `batonctl demo`: shows what Baton does, on a temporary etcd and nodes of its own.
//
// Nodes start and balance, two join, two are killed (one of them has a guard), one is stopped by
// SIGSTOP and continued, one is drained. The demo prints PASS or FAIL for each statement that it
// checks, with the measurement of an observer outside the nodes. FAIL means that something was
// incorrect or took too long: longer than TTL + 3 s, and after a kill with a guard longer than half
// of the TTL. A very busy machine can cause this, too.
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
  bool keep = false;            ///< leave the cluster running and print how to use it
  bool secure = false;          ///< TLS and certificates everywhere, and a part about them
  bool color = false;
};

/// Runs the demo and returns batonctl's exit code: kDone; kFailed if a statement was false or the
/// demo can't go on; kInterrupted after Ctrl-C or SIGTERM. Uses no etcd but its own. REQUIRES: the
/// options are within these bounds, there are more shards than kMaxNodes, and not both `keep` and
/// `secure` are set; the command line checks this.
int RunDemo(DemoOptions options);

}  // namespace baton::app
