#include "app/daemon/outcome.h"

#include "app/daemon/command.h"
#include "base/log.h"

namespace baton::app {

int Conclude(const Outcome& outcome) {
  const std::optional<Error>& failure = outcome.failure;
  if (outcome.program && !outcome.halted) {
    log::Info(failure ? "not drained: " + failure->message : "drained");
    return ExitCode(*outcome.program);
  }
  if (!failure) {
    log::Info(outcome.relay ? "stopped" : "drained");
    return 0;
  }
  if (outcome.halted) return 1;
  if (failure->code == ErrorCode::kTimedOut) {
    // This node leads nothing any more; the shards that it resigned are claimed by others.
    log::Warn("drained, not everything in time", {{"error", failure->message}});
    return 0;
  }
  log::Error("batond: " + failure->message);
  return 1;
}

}  // namespace baton::app
