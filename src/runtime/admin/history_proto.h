// Translates the events of a History between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. If a reason is not set, or is of a newer
// version, FromProto sets kOperator. Messages have the durations of HistoryEvent::gap, but not
// those of HistoryEvent::transition: FromProto leaves these 0 or unset. The message of an
// operator's change has only `seq`, `at`, `change`, `actor` and `revision`.
#pragma once

#include "baton/v1/admin.pb.h"
#include "runtime/history.h"

namespace baton::runtime {

v1::Event ToProto(const HistoryEvent& event);
// The next two append the events to those in `out`, so pass an empty message.
void ToProto(const HistoryPage& page, v1::ListEventsResponse* out);
void ToProto(const HistoryPage& page, v1::WatchEventsResponse* out);
HistoryPage FromProto(const v1::ListEventsResponse& message);
HistoryPage FromProto(const v1::WatchEventsResponse& message);

}  // namespace baton::runtime
