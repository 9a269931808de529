#include "app/daemon/node_end.h"

#include "app/daemon/command.h"
#include "base/log.h"

namespace baton::app {

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

}  // namespace baton::app
