#include "sidecar/attach_hello.h"

#include <chrono>

#include <fmt/format.h>

namespace baton::sidecar {
namespace {

constexpr int kLongestClient = 256;
constexpr int kLongestToken = 64;
// An older time in a hello means that its clock is not this host's.
constexpr Duration kOldestHello = std::chrono::seconds(5);
// On a busy host a hello may wait until the node reads it, for up to this time. An application that
// tries again then has a fresh one.
constexpr Duration kLatestHello = std::chrono::minutes(2);

}  // namespace

std::optional<Refusal> CheckHello(const v1::AttachHello& hello, const std::string& group,
                                  TimePoint now) {
  using Kind = Refusal::Kind;
  if (hello.protocol() != kProtocol) {
    return Refusal{Kind::kMalformed,
                   fmt::format("hello.protocol is {}; this batond supports version {}: set {}",
                               hello.protocol(), kProtocol, kProtocol)};
  }
  if (hello.client().size() > kLongestClient) {
    return Refusal{Kind::kMalformed, fmt::format("hello.client has {} bytes; expected at most {}",
                                                 hello.client().size(), kLongestClient)};
  }
  if (hello.token().size() > kLongestToken) {
    return Refusal{Kind::kMalformed,
                   fmt::format("hello.token has {} bytes; expected the token of the last welcome",
                               hello.token().size())};
  }
  if (!hello.group().empty() && hello.group() != group) {
    return Refusal{Kind::kOtherGroup,
                   "this node belongs to group '" + group + "'; attach to a node of your group"};
  }
  if (hello.boottime_ns() < 0) {
    return Refusal{Kind::kMalformed,
                   "hello.boottime_ns is negative; expected CLOCK_BOOTTIME, or 0"};
  }
  const Duration age = now.time_since_epoch() - Duration(hello.boottime_ns());
  if (hello.boottime_ns() != 0 && age > kOldestHello && age <= kLatestHello) {
    return Refusal{Kind::kUnavailable,
                   fmt::format("hello.boottime_ns is {} s old: the hello came late, or this node's "
                               "CLOCK_BOOTTIME is another one; attach again",
                               std::chrono::duration_cast<std::chrono::seconds>(age).count())};
  }
  if (hello.boottime_ns() != 0 && (age < Duration{0} || age > kOldestHello)) {
    return Refusal{Kind::kMalformed,
                   "hello.boottime_ns does not match this node's CLOCK_BOOTTIME, which deadlines "
                   "use; run both on one host, in one time namespace"};
  }
  return std::nullopt;
}

}  // namespace baton::sidecar
