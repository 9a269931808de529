// Translates times and durations to and from protobuf's messages.
//
// Pure functions; any thread. Messages may come from outside, so the functions accept any values.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <chrono>

namespace baton::runtime {

google::protobuf::Timestamp TimestampOf(std::chrono::system_clock::time_point time);
/// A time beyond the clock's range (292 years from 1970) becomes the range's first or last time.
std::chrono::system_clock::time_point TimeOf(const google::protobuf::Timestamp& timestamp);

google::protobuf::Duration DurationOf(std::chrono::nanoseconds duration);
/// A duration of more than 73 years becomes 73 years, and a negative one likewise. So a few
/// durations can be added up.
std::chrono::nanoseconds NanosecondsOf(const google::protobuf::Duration& duration);

}  // namespace baton::runtime
