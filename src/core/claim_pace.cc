#include "core/claim_pace.h"

#include <algorithm>

namespace baton::core {
namespace {

constexpr Duration kSecond = std::chrono::seconds(1);
// At nine tenths of the limit, a tenth of a second's claims takes this long.
constexpr Duration kBurst = kSecond / 9;
// A confirmation that takes longer than the TTL divided by this is slow, and halves the pace.
constexpr int kSlowConfirmationDivisor = 12;

}  // namespace

ClaimPace::Pace ClaimPace::PaceOf(const Context& context, const Share& share) const {
  Duration each = each_of_group_ * share.total * 10 / (9 * share.assigned);
  const bool slow = context.session.confirmation_took() >
                    Duration(context.session.ttl()) / kSlowConfirmationDivisor;
  if (slow) each *= 2;
  each = std::max(Duration{1}, each);
  const std::int64_t at_once = std::max<std::int64_t>(1, kBurst / each);
  const auto most = static_cast<std::int64_t>(MaxClaims(1));
  return {
      .each = each, .at_once = at_once, .batch = std::clamp<std::int64_t>(at_once / 2, 1, most)};
}

void ClaimPace::Assign(const Context& context, const Share& share, bool idle) {
  share_ = {.assigned = std::max<std::int64_t>(1, share.assigned),
            .total = std::max({std::int64_t{1}, share.assigned, share.total}),
            .before = share.before};
  const auto watchers = static_cast<std::int64_t>(context.view.LiveMembers());
  each_of_group_ =
      kSecond * std::max<std::int64_t>(1, watchers) / context.options.event_deliveries_per_second;
  if (!idle) return;
  const Duration each = PaceOf(context, share_).each;
  const Duration turn = each * share_.before / share_.total;
  paced_to_ = std::max(paced_to_, context.now - std::max(kBurst, each - turn));
}

void ClaimPace::NoteBegun(const Context& context, std::size_t leaderships) {
  if (leaderships == 0) return;
  group_paced_to_ = std::max(group_paced_to_, context.now - kBurst) +
                    each_of_group_ * static_cast<std::int64_t>(leaderships);
  group_paced_to_ = std::min(group_paced_to_, context.now + kSecond);
}

std::size_t ClaimPace::Allowed(Context& context, std::size_t wanted) {
  if (context.now < group_paced_to_) {
    context.WakeAt(group_paced_to_);
    return 0;
  }
  const Pace pace = PaceOf(context, share_);
  paced_to_ = std::max(paced_to_, context.now - pace.each * pace.at_once);
  const std::int64_t allowed = (context.now - paced_to_) / pace.each;
  const std::int64_t batch = std::min(pace.batch, static_cast<std::int64_t>(wanted));
  if (allowed >= batch) return static_cast<std::size_t>(allowed);
  context.WakeAt(paced_to_ + pace.each * batch);
  return 0;
}

void ClaimPace::Sent(const Context& context, std::size_t claims) {
  paced_to_ += PaceOf(context, share_).each * static_cast<std::int64_t>(claims);
}

Duration ClaimPace::LongestPause(const Context& context, const Share& share) const {
  const Pace pace = PaceOf(context, share);
  return 2 * pace.batch * pace.each;
}

}  // namespace baton::core
