// `batonctl demo`: shows what Baton does, on a temporary etcd and nodes of its own.
//
// Nodes start and balance, one joins, one is killed, one is stopped and woken, one is drained. Each
// claim is a line, PASS or FAIL, with what an observer outside the nodes measured. FAIL means that
// something was incorrect, or took longer than TTL + 3 s, which a very busy machine can cause, too.
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

  std::uint32_t nodes = 3;  ///< at the start; one more joins
  std::uint32_t shards = 1024;
  std::chrono::seconds ttl{5};  ///< the nodes' lease time
  bool keep = false;            ///< leave the cluster running and print how to use it
  bool secure = false;          ///< TLS and certificates everywhere, and a part about them
  bool color = false;
};

/// Runs the demo and returns batonctl's exit code: kFailed if a claim fails or the demo can't go
/// on. Uses no etcd but its own. REQUIRES: the options are within these bounds, and not both `keep`
/// and `secure`.
int RunDemo(DemoOptions options);

}  // namespace baton::app
