// `batonctl demo`: shows what Baton does, on a temporary etcd and nodes of its own.
//
// Nodes start and balance. Two nodes join, two are killed (one of these has a guard), one is
// stopped by SIGSTOP and continued, and one is drained. The demo prints PASS or FAIL for each
// statement that it checks, with the measurement of an observer outside the nodes. FAIL means that
// something was incorrect or took too long. The bound of a time is TTL + 3 s. After a node that has
// a guard was killed, the bound is half of the TTL. A very busy machine can cause a FAIL, too.
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
/// demo can't go on; kInterrupted after Ctrl-C or SIGTERM. Uses only an etcd of its own. Ends its
/// processes before it returns, with one exception: if `keep` is set and the demo came to its end,
/// also with a FAIL, the cluster goes on running after RunDemo has returned. RunDemo then prints
/// how to use the cluster and how to stop it. In this cluster the killed nodes stay dead, and the
/// drained node stays drained. After a FAIL the folder with the logs stays.
///
/// REQUIRES: Interrupt::Install was called; the options are within the bounds of DemoOptions; there
/// are more shards than kMaxNodes; at most one of `keep` and `secure` is set. The command line
/// checks the options; RunDemo does not.
int RunDemo(DemoOptions options);

}  // namespace baton::app
