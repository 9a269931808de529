// The JSON of a node's history. It is API of /v1/events, `batonctl history`, `batonctl events` and
// `--events-file`.
//
// Pure functions; any thread. Field names are stable; new ones may be added. A field that would
// name a node is null if there is no such node. `gap` is the time without an active leader, in
// phases; a phase that the observer does not know is absent. Durations are in seconds, with up to
// six decimals. No trailing newline.
#pragma once

#include <string>

#include "baton/types.h"
#include "runtime/history.h"

namespace baton::http {

/// A transition has these fields: seq, at, shard, reason, from, to, term, revision, actor, cause,
/// gap and observer. `cause` is null if it is not known (http/cause_json.h). A change that an
/// operator ordered has: seq, at, change, revision, actor and observer. `observer`: the node that
/// saw the event.
std::string EventJson(const runtime::HistoryEvent& event, const NodeId& observer);

/// `/v1/events`: group, node, started, first, last, reset, and the events; see
/// runtime::HistoryPage.
std::string EventsJson(const runtime::HistoryPage& page);

}  // namespace baton::http
