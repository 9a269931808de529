// Translates a history's events between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. A reason of a newer version becomes
// "operator". The message of a transition lacks the transition's durations: HistoryEvent::gap has
// them. The message of a change has only the number, the time, the words, the actor and the
// revision.
#pragma once

#include "baton/v1/admin.pb.h"
#include "runtime/history.h"

namespace baton::runtime {

v1::Event ToProto(const HistoryEvent& event);
void ToProto(const HistoryPage& page, v1::ListEventsResponse* out);
void ToProto(const HistoryPage& page, v1::WatchEventsResponse* out);
HistoryPage FromProto(const v1::ListEventsResponse& message);
HistoryPage FromProto(const v1::WatchEventsResponse& message);

}  // namespace baton::runtime
