// ConfirmationLog: computes how long ago, at most, a member died, once its lease is seen to end.
//
// No node sees another node's renewals, so no node knows when another one died. But suppose that a
// confirmation of our own committed before the revision that deleted the other node's member key.
// Then the other node's lease was alive when we sent the confirmation. So the last renewal of that
// lease came at most D before we sent the confirmation. D is the lease's TTL, plus the time by
// which etcd may be late in noticing an expiry. This proof fails if etcd elected a leader within
// these D, because a new leader gives every lease its full TTL again. In that case the newest
// confirmation of an earlier raft term is tried as the proof, in the same way.
//
// Assumes that etcd notices an expired lease within kExpiryLateness. Pure and single-threaded:
// owned by a Session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "baton/types.h"

namespace baton::core {

/// etcd looks for expired leases every 500 ms.
inline constexpr Duration kExpiryLateness = std::chrono::milliseconds(500);
/// A new leader of etcd adds an election timeout to each lease; this is twice the default.
inline constexpr Duration kLeaseExtension = std::chrono::seconds(2);

class ConfirmationLog {
 public:
  /// Adds a confirmation: a transaction sent at `sent_at` and answered at `answered_at`, which
  /// committed in `raft_term` at `revision`. Keeps the last 32. REQUIRES: calls come in the order
  /// of the answers.
  void Add(TimePoint sent_at, TimePoint answered_at, Revision revision, std::uint64_t raft_term);

  /// The longest time that can have passed between a member's death and `seen_at`. `seen_at` is
  /// when this node saw that the member's key was gone or taken over. `revision` is the one at
  /// which that happened, and `ttl` the TTL of the member's lease.
  ///
  /// Nullopt if the kept confirmations hold no proof. A proof takes two confirmations of one raft
  /// term. The later one has a lower revision than `revision`. The earlier one was answered `ttl`
  /// plus 2.5 s or more before the later one was sent. So there is no proof before that much time
  /// has passed since our first confirmation. There is never a proof if `ttl` is more than about
  /// ten of our TTLs. Nor is there a proof if etcd was restored between the two, and its raft terms
  /// began again below the earlier ones.
  std::optional<Duration> DeadAtMost(TimePoint seen_at, Revision revision, Duration ttl) const;

 private:
  struct Confirmation {
    TimePoint sent_at{};
    TimePoint answered_at{};
    Revision revision;
    std::uint64_t raft_term = 0;
  };
  static constexpr std::size_t kKept = 32;  ///< about the confirmations of ten TTLs

  /// The newest confirmation that `fits`; null if no confirmation fits.
  template <typename Fits>
  const Confirmation* Newest(Fits fits) const;

  std::array<Confirmation, kKept> kept_{};
  std::size_t added_ = 0;  ///< the newest is at (added_ - 1) % kKept
};

}  // namespace baton::core
