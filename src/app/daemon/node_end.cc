#include "app/daemon/node_end.h"

#include "app/daemon/command.h"
#include "base/log.h"

namespace baton::app {
namespace {

// How long callbacks may go on if there is no application at a sidecar that is asked to stop.
constexpr std::chrono::seconds kCallbacks{1};
// How much longer than its timeouts the end may take if etcd does not answer: the node waits for 30
// s, gRPC's servers for 10 s, the rest for little.
constexpr std::chrono::seconds kEndWithoutEtcd{45};

}  // namespace

int ConcludeEnd(const NodeEnd& end) {
  if (end.halted) return 1;
  const std::optional<Error>& failure = end.failure;
  if (end.program) {
    log::Info(failure ? "not drained: " + failure->message : "drained");
    return ExitCode(*end.program);
  }
  if (!failure) {
    log::Info(end.relay ? "stopped" : "drained");
    return 0;
  }
  if (failure->code == ErrorCode::kTimedOut) {
    // This node leads nothing any more; the shards that it resigned are claimed by others.
    log::Warn("drained, not everything in time", {{"error", failure->message}});
    return 0;
  }
  log::Error("batond: " + failure->message);
  return 1;
}

std::chrono::milliseconds LongestEnd(const DaemonOptions& options) {
  const NodeOptions& node = options.node;
  const auto asking = options.sidecar ? node.release_timeout + node.callback_timeout : kCallbacks;
  return node.drain_timeout + asking + kEndWithoutEtcd;
}

}  // namespace baton::app
