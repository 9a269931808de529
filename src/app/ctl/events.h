// batonctl's verbs that show what happened: `history` and `events`. Blocking; one thread. If the
// node gives an error or no answer, both print the error and return its exit code (Fail in
// output.h). kNotFound: the group has no such shard.
#pragma once

#include <cstdint>
#include <optional>

#include "app/ctl/ctl.h"
#include "baton/types.h"

namespace baton::app {

/// Shows the events that the node at options.endpoint keeps: with `shard`, the transitions of this
/// shard; otherwise all transitions, and operators' changes. In the table formats, says on stderr
/// if older events are missing.
ExitCode ShowHistory(const CtlOptions& options, std::optional<ShardId> shard);

struct EventsOptions {
  bool follow = false;  ///< go on with new events (see ShowEvents)
  /// Shows the kept events with a greater number than `after`. The node's process numbers its
  /// events from 1. If the process has not used the number `after` yet, shows all kept events.
  /// Unset: shows all kept events; with `follow`, only new events.
  std::optional<std::uint64_t> after = {};
  std::optional<ShardId> shard = {};  ///< unset: the events of all shards, and operators' changes
};
/// Prints each event as one line, or as a JSON or YAML document. Says on stderr if events are
/// missing. With `follow`, the verb goes on until one of these happens: Ctrl-C (kInterrupted,
/// without a message), CtlOptions::timeout has passed (kTimedOut), stdout can't be written
/// (kFailed), or an error. If the node can't be reached after its first answer, this is no error:
/// the verb tries again every 500 ms, and continues after the last printed event.
ExitCode ShowEvents(const CtlOptions& options, const EventsOptions& events);

}  // namespace baton::app
