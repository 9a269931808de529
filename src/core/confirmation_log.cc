#include "core/confirmation_log.h"

#include <algorithm>

namespace baton::core {

void ConfirmationLog::Add(TimePoint sent_at, TimePoint answered_at, Revision revision,
                          std::uint64_t raft_term) {
  kept_[added_++ % kKept] = {sent_at, answered_at, revision, raft_term};
}

template <typename Fits>
const ConfirmationLog::Confirmation* ConfirmationLog::Newest(Fits fits) const {
  for (std::size_t back = 1; back <= std::min(added_, kKept); ++back) {
    const Confirmation& kept = kept_[(added_ - back) % kKept];
    if (fits(kept)) return &kept;
  }
  return nullptr;
}

std::optional<Duration> ConfirmationLog::DeadAtMost(TimePoint seen_at, Revision revision,
                                                    Duration ttl) const {
  const auto* proof = Newest([&](const Confirmation& c) { return c.revision < revision; });
  while (proof != nullptr) {
    const TimePoint renewed = proof->sent_at - ttl - kExpiryLateness;
    // Counts from its answer: a transaction sent before an election may commit after it.
    const auto* earlier =
        Newest([&](const Confirmation& c) { return c.answered_at <= renewed - kLeaseExtension; });
    if (earlier == nullptr) return std::nullopt;
    if (earlier->raft_term == proof->raft_term) return seen_at - renewed;
    proof = Newest([&](const Confirmation& c) { return c.raft_term < proof->raft_term; });
  }
  return std::nullopt;
}

}  // namespace baton::core
