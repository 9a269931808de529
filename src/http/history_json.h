// The JSON of a node's history. It is API of /v1/events, `batonctl history`, `batonctl events` and
// `--events-file`.
//
// Pure functions; any thread. Field names are stable; new ones may be added. `from` is null if
// there was no previous leader, and `to` is null if nobody leads now. `actor` is "" if nobody asked
// for the change. `gap` has the phases of the time without an active leader: detect_at_most_seconds
// or detect_seconds, elect_seconds and activate_seconds. A phase whose length is not known has no
// field. `gap` also has two sums, if they are known: measured_seconds (GapPhases::Measured) and
// at_most_seconds (GapAtMost). Durations are in seconds, with up to six decimals. `at` and
// `started` are times in UTC, as Timestamp writes them. A result is one line, without a newline at
// its end, and safe to print (SafeJson).
#pragma once

#include <string>

#include "baton/types.h"
#include "runtime/history.h"

namespace baton::http {

/// Returns one event. A transition has these fields: seq, at, shard, reason, from, to, term,
/// revision, actor, cause, gap and observer. `cause` is null if it is not known
/// (http/cause_json.h). A change that an operator ordered has: seq, at, change, revision, actor and
/// observer. `observer`: the node that saw the event.
std::string EventJson(const runtime::HistoryEvent& event, const NodeId& observer);

/// `/v1/events`: group, node, started, first, last, reset, and the events; see
/// runtime::HistoryPage.
std::string EventsJson(const runtime::HistoryPage& page);

}  // namespace baton::http
