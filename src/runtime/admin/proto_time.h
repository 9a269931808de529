// Translates times and durations to and from protobuf's messages.
//
// Pure functions; any thread. Messages may come from outside, so the functions accept any values.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <chrono>

namespace baton::runtime {

google::protobuf::Timestamp TimestampOf(std::chrono::system_clock::time_point time);
/// A time outside of the clock's range (292 years before and after 1970), or less than 3 s inside
/// it, becomes the first or last time of the range.
std::chrono::system_clock::time_point TimeOf(const google::protobuf::Timestamp& timestamp);

google::protobuf::Duration DurationOf(std::chrono::nanoseconds duration);
/// A duration above 73 years becomes 73 years, and one below -73 years becomes -73 years. So the
/// sum of four durations does not overflow.
std::chrono::nanoseconds NanosecondsOf(const google::protobuf::Duration& duration);

}  // namespace baton::runtime
