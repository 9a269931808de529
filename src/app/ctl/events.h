// batonctl's verbs that show what happened: `history` and `events`.
#pragma once

#include <cstdint>
#include <optional>

#include "app/ctl/ctl.h"
#include "baton/types.h"

namespace baton::app {

/// Shows the transitions that the node keeps, of one shard or of all.
ExitCode ShowHistory(const CtlOptions& options, std::optional<ShardId> shard);

struct EventsOptions {
  bool follow = false;                      ///< go on until Ctrl-C or the timeout
  std::optional<std::uint64_t> after = {};  ///< unset: all that are kept; with follow: new ones
  std::optional<ShardId> shard = {};
};
/// Prints one line for each event.
ExitCode ShowEvents(const CtlOptions& options, const EventsOptions& events);

}  // namespace baton::app
