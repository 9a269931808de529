// batonctl's verbs that show what happened: `history` and `events`. Blocking; one thread. If the
// node does not answer, or refuses, both print the error and return its exit code (Fail, output.h).
// kNotFound: the group has no such shard.
#pragma once

#include <cstdint>
#include <optional>

#include "app/ctl/ctl.h"
#include "baton/types.h"

namespace baton::app {

/// Shows events that the node at `options.endpoint` keeps. With `shard`, these are the transitions
/// of this shard. Without it, they are all transitions, and operators' changes. In the table
/// formats, says on stderr if older events are missing.
ExitCode ShowHistory(const CtlOptions& options, std::optional<ShardId> shard);

struct EventsOptions {
  bool follow = false;  ///< go on with new events (see ShowEvents)
  /// Shows events with a greater number than this. The node's process numbers its events from 1. If
  /// the process has not used this number yet, all kept events are shown. Unset: all kept events;
  /// with `follow`, only new events.
  std::optional<std::uint64_t> after = {};
  std::optional<ShardId> shard = {};  ///< unset: the events of all shards, and operators' changes
};
/// Prints each event as one line, or as a JSON or YAML document. Says on stderr if events are
/// missing.
/// With `follow`, the verb goes on until Ctrl-C (kInterrupted, without a message), until
/// CtlOptions::timeout has passed (kTimedOut), until stdout can't be written (kFailed), or until an
/// error. If the node goes away after its first answer, this is no error: the verb asks the node
/// again every 500 ms, for the events after the last printed event.
ExitCode ShowEvents(const CtlOptions& options, const EventsOptions& events);

}  // namespace baton::app
