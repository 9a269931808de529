// batonctl's verbs that show what happened: `history` and `events`. Blocking; one thread. If the
// node can't be asked, both print the error and return its exit code (Fail, output.h). kNotFound:
// the group has no such shard.
#pragma once

#include <cstdint>
#include <optional>

#include "app/ctl/ctl.h"
#include "baton/types.h"

namespace baton::app {

/// Shows the events that the node at `options.endpoint` keeps: transitions of `shard`; or, without
/// `shard`, all transitions and operators' changes. In the table formats, says on stderr if older
/// events are missing.
ExitCode ShowHistory(const CtlOptions& options, std::optional<ShardId> shard);

struct EventsOptions {
  bool follow = false;  ///< go on with new events (see ShowEvents)
  /// Shows events with a greater number. The node's process numbers its events from 1. If the
  /// process has not used this number, all kept events are shown. Unset: all kept events, or with
  /// `follow` only new ones.
  std::optional<std::uint64_t> after = {};
  std::optional<ShardId> shard = {};  ///< unset: all shards, and operators' changes
};
/// Prints each event as one line, or as a JSON or YAML document. With `follow` it ends by Ctrl-C
/// (kInterrupted, without a message), the timeout (kTimedOut) or an error, also if stdout can't be
/// written (kFailed). If the node goes away
/// after its first answer, that is no error: the node is asked again every 500 ms, for the events
/// after the last one that was printed. Says on stderr if events are missing.
ExitCode ShowEvents(const CtlOptions& options, const EventsOptions& events);

}  // namespace baton::app
