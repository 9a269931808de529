// Times and durations as protobuf's messages, both ways.
//
// Pure functions, safe from any thread. Messages may come from strangers.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <chrono>

namespace baton::runtime {

google::protobuf::Timestamp TimestampOf(std::chrono::system_clock::time_point time);
/// What the clock doesn't reach (292 years from 1970) counts as the first or last that it does.
std::chrono::system_clock::time_point TimeOf(const google::protobuf::Timestamp& timestamp);

google::protobuf::Duration DurationOf(std::chrono::nanoseconds duration);
/// 73 years at most, so that a few can be added up.
std::chrono::nanoseconds NanosecondsOf(const google::protobuf::Duration& duration);

}  // namespace baton::runtime
