// Translates a history's events between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. A reason that is not set, or is of a newer
// version, becomes kOperator. The durations in the message of a transition are those of
// HistoryEvent::gap; FromProto leaves those of HistoryEvent::transition at 0. The message of an
// operator's change has only `seq`, `at`, `change`, `actor` and `revision`.
#pragma once

#include "baton/v1/admin.pb.h"
#include "runtime/history.h"

namespace baton::runtime {

v1::Event ToProto(const HistoryEvent& event);
// These two append the events to those in `out`, so pass an empty message.
void ToProto(const HistoryPage& page, v1::ListEventsResponse* out);
void ToProto(const HistoryPage& page, v1::WatchEventsResponse* out);
HistoryPage FromProto(const v1::ListEventsResponse& message);
HistoryPage FromProto(const v1::WatchEventsResponse& message);

}  // namespace baton::runtime
