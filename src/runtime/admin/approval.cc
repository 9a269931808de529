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

Duration TimeFor(const grpc::CallbackServerContext& context) {
  const auto now = std::chrono::system_clock::now();
  const auto deadline = context.deadline();
  if (deadline >= now + kLongestChange) return kLongestChange;
  const Duration left = std::max<Duration>(deadline - now, Duration{0});
  return std::max(left - std::clamp(left / 8, kLeastReserve, kMaxReserve), Duration{0});
}

}  // namespace

Approval::Approval(const grpc::CallbackServerContext& context, const access::Gate& gate)
    : context_(context), gate_(gate), by_(BootClock::now() + TimeFor(context)) {}

std::optional<grpc::Status> Approval::WhyNot(const AskedChange& change) const {
  // The caller shows its token again, whose rule may be gone or over.
  auto refusal = gate_.Refusal(CallerOf(gate_, context_), change.verb);
  if (refusal) return StatusOf(*std::move(refusal));
  if (TimeLeft() <= Duration{0}) return kNoTime;
  if (context_.IsCancelled()) return kGivenUp;
  return std::nullopt;
}

}  // namespace baton::runtime
