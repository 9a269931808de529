// Translates times and durations to and from protobuf's messages.
//
// Pure functions; any thread. They accept any message.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <chrono>

namespace baton::runtime {

google::protobuf::Timestamp TimestampOf(std::chrono::system_clock::time_point time);
/// The clock's range is 292 years before and after 1970. A time outside this range, or less than
/// about 4 s from its ends, becomes the first or last time of the range.
std::chrono::system_clock::time_point TimeOf(const google::protobuf::Timestamp& timestamp);

google::protobuf::Duration DurationOf(std::chrono::nanoseconds duration);
/// A duration above 73 years becomes 73 years. A duration below -73 years becomes -73 years. So the
/// sum of four results does not overflow.
std::chrono::nanoseconds NanosecondsOf(const google::protobuf::Duration& duration);

}  // namespace baton::runtime
