#include "runtime/admin/approval.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/admin/grpc_access.h"

namespace baton::runtime {
namespace {

// Of a change whose caller has set no deadline, or a later one.
constexpr Duration kLongestChange = std::chrono::minutes(1);
// An eighth of a caller's time, within these bounds, is left for the answer to arrive.
constexpr Duration kLeastReserve = std::chrono::milliseconds(20);
constexpr Duration kMaxReserve = std::chrono::milliseconds(500);

const grpc::Status kNoTime{grpc::StatusCode::UNAVAILABLE,
                           "no time was left: the change was not made"};
const grpc::Status kGivenUp{grpc::StatusCode::CANCELLED,
                            "the caller has given it up: the change was not made"};

// A call without a deadline has the greatest time there is.
Duration TimeUntil(std::chrono::system_clock::time_point deadline) {
  const auto now = std::chrono::system_clock::now();
  return deadline > now ? Duration(deadline - now) : Duration{0};
}

}  // namespace

Duration TimeForChange(Duration callers_time) {
  callers_time = std::max(callers_time, Duration{0});
  const Duration reserve = std::clamp(callers_time / 8, kLeastReserve, kMaxReserve);
  return std::clamp(callers_time - reserve, Duration{0}, kLongestChange);
}

Approval::Approval(const grpc::CallbackServerContext& context, const access::Gate& gate)
    : context_(context),
      gate_(gate),
      by_(BootClock::now() + TimeForChange(TimeUntil(context.deadline()))) {}

std::optional<grpc::Status> Approval::WhyNot(const RequestedChange& change) const {
  // The caller shows its token again, whose rule may be gone or over.
  auto refusal = gate_.Refusal(CallerOf(gate_, context_), change.verb);
  if (refusal) return StatusOf(*std::move(refusal));
  if (TimeLeft() <= Duration{0}) return kNoTime;
  if (context_.IsCancelled()) return kGivenUp;
  return std::nullopt;
}

}  // namespace baton::runtime
