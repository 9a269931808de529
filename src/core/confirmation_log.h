// ConfirmationLog: how long ago a member can have died at most, when its lease is seen to end.
//
// Nobody sees another's renewals, so nobody knows when it died. But a confirmation of our own,
// committed before the revision at which the other's member key was deleted, proves that its lease
// was alive when the confirmation was sent: so it was renewed no more than a TTL (and what etcd is
// late in noticing) before. Unless etcd had elected a leader by then, who gives every lease its
// full TTL again: then the last confirmation under the leader before says it.
//
// Holds where etcd notices an ended lease within kExpiryLateness. Pure and single-threaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "baton/types.h"

namespace baton::core {

/// etcd looks for leases that ran out every 500 ms.
inline constexpr Duration kExpiryLateness = std::chrono::milliseconds(500);
/// A new leader of etcd adds an election timeout to each lease; this is twice the default.
inline constexpr Duration kLeaseExtension = std::chrono::seconds(2);

class ConfirmationLog {
 public:
  /// A transaction sent at `sent_at` and answered at `answered_at` committed in `raft_term`, seeing
  /// `revision`. In order.
  void Add(TimePoint sent_at, TimePoint answered_at, Revision revision, std::uint64_t raft_term);

  /// A member whose lease had `ttl`, and whose key was seen deleted or taken over at `seen_at`, in
  /// `revision`, was alive no longer ago than this. Unset where too few confirmations are known.
  std::optional<Duration> DeadAtMost(TimePoint seen_at, Revision revision, Duration ttl) const;

 private:
  struct Confirmation {
    TimePoint sent_at{};
    TimePoint answered_at{};
    Revision revision;
    std::uint64_t raft_term = 0;
  };
  static constexpr std::size_t kKept = 32;  ///< ten leases

  /// The newest that `fits`; null: none.
  template <typename Fits>
  const Confirmation* Newest(Fits fits) const;

  std::array<Confirmation, kKept> kept_{};
  std::size_t added_ = 0;  ///< the newest is at (added_ - 1) % kKept
};

}  // namespace baton::core
