// ConfirmationLog: once this node has seen the end of a member's lease, computes how long ago the
// member died, at most.
//
// The proof uses a confirmation of our own (session.h) that committed before the member's key was
// deleted. When we sent this confirmation, the member's lease was still alive. So the last renewal
// of the lease came at most D earlier. D is the lease's TTL plus kExpiryLateness. The proof fails
// if etcd elected a leader within this time D: a new leader gives every lease its full TTL again.
// Then the log tries the newest confirmation of an earlier raft term in the same way.
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
/// A new leader of etcd adds its election timeout to each lease. This constant is twice the default
/// timeout.
inline constexpr Duration kLeaseExtension = std::chrono::seconds(2);

class ConfirmationLog {
 public:
  /// Adds a confirmation: a transaction sent at `sent_at` and answered at `answered_at`, which
  /// committed in `raft_term` at `revision`. Keeps the last 32. REQUIRES (not checked): calls come
  /// in the order of the answers.
  void Add(TimePoint sent_at, TimePoint answered_at, Revision revision, std::uint64_t raft_term);

  /// The longest time that can have passed between a member's death and `seen_at`. `seen_at`: when
  /// this node saw that the member's key was deleted or taken over. `revision`: at which the key
  /// was deleted or taken over. `ttl`: of the member's lease.
  ///
  /// Nullopt if the kept confirmations hold no proof. A proof takes two confirmations of one raft
  /// term. The later one has a lower revision than `revision`. The earlier one was answered `ttl`
  /// plus 2.5 s or more before the later one was sent. So the first `ttl` plus 2.5 s after our
  /// first confirmation have no proof. If `ttl` is more than about ten of our TTLs, the log is too
  /// short for a proof.
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
