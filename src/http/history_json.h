// The JSON of a node's history: API of /v1/events, `batonctl history` and `events`, and the lines
// of `--events-file` alike.
//
// Pure functions, safe from any thread. Field names are stable; new ones may be added. Who is
// nobody is null; a phase of the gap that the observer does not know is absent. Durations are in
// seconds, down to the microsecond. Without a trailing newline.
#pragma once

#include <string>

#include "baton/types.h"
#include "runtime/history.h"

namespace baton::http {

/// One event: seq, at, shard, reason, from, to, term, revision, actor, gap and observer.
std::string EventJson(const runtime::HistoryEvent& event, const NodeId& observer);

/// `/v1/events`: group, node, started, first, last, reset, and the events.
std::string EventsJson(const runtime::HistoryPage& page);

}  // namespace baton::http
