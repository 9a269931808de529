#include "runtime/admin/proto_time.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>

namespace baton::runtime {
namespace {

using google::protobuf::util::TimeUtil;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using WallTime = std::chrono::system_clock::time_point;

constexpr nanoseconds kLongest = nanoseconds::max() / 4;

/// For Timestamp and Duration, which have the same two numbers.
template <typename Message>
nanoseconds Saturated(const Message& message) {
  // Nanoseconds in a message from outside may amount to up to two seconds.
  constexpr seconds kMax = std::chrono::duration_cast<seconds>(nanoseconds::max()) - seconds(3);
  if (message.seconds() >= kMax.count()) return nanoseconds::max();
  if (message.seconds() <= -kMax.count()) return nanoseconds::min();
  return seconds(message.seconds()) + nanoseconds(message.nanos());
}

}  // namespace

google::protobuf::Timestamp TimestampOf(WallTime time) {
  return TimeUtil::NanosecondsToTimestamp(nanoseconds(time.time_since_epoch()).count());
}

WallTime TimeOf(const google::protobuf::Timestamp& timestamp) {
  return WallTime(Saturated(timestamp));
}

google::protobuf::Duration DurationOf(nanoseconds duration) {
  return TimeUtil::NanosecondsToDuration(duration.count());
}

nanoseconds NanosecondsOf(const google::protobuf::Duration& duration) {
  return std::clamp(Saturated(duration), -kLongest, kLongest);
}

}  // namespace baton::runtime
