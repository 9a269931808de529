// PendingWrites: the writes whose outcome is not definite yet, and the part of the core that each
// outcome goes to.
//
// If the answer to a write leaves items unknown, Advance sends these items again, unchanged. That
// ends when the outcome of all items is definite, or when the write is dropped. At most one copy of
// a write is in flight. The next copy follows the answer after a backoff, which grows from
// kMinRetryPause to kMaxRetryPause (options.h).
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/events.h"

namespace baton::core {

/// The part of the core that submitted a write and gets the outcome.
enum class WriteOwner : std::uint8_t {
  kConfig,
  kRequests,
  kLeaderships,
  kOtherTries,
  kIncomingMoves,
  kSuccession,
  kBalancer,
  kRipeMarks,
};

class PendingWrites {
 public:
  /// A write whose outcome is definite now.
  struct Settled {
    WriteOwner owner = WriteOwner::kConfig;
    std::shared_ptr<const Write> write;
    /// True: the first answer was definite. False: an earlier answer left items unknown, so an
    /// earlier copy of the write may have been applied.
    bool sent_once = true;
  };

  /// Appends the write's first copy to `actions`. REQUIRES (not checked): `operation` was never
  /// used before.
  void Submit(OperationId operation, WriteOwner owner, Write&& write, std::vector<Action>& actions);
  /// Records an answer. If the write's outcome is definite now, returns the write, which is not
  /// pending any more. Returns nullopt if the outcome is still unknown, or if the write is not
  /// pending here. A server may refuse a later copy before it looks at the keys, for example
  /// because of the credentials. Then the outcome stays unknown, because an earlier copy may still
  /// be applied.
  std::optional<Settled> Settle(const WriteAnswered& event, TimePoint now);
  /// Sends the copies that are due. Lowers `wake_at` to the time of the next copy.
  void Advance(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at);

  /// Whether an answer left some item unknown. Then the write may be applied, now or later, if
  /// NeverSent is false. False for writes that are not pending.
  bool Unknown(OperationId operation) const;
  /// Whether all copies so far were answered, and none of them reached etcd
  /// (WriteResult::never_sent). If such a write is dropped, it is never applied. False for writes
  /// that are not pending, and while a copy is in flight.
  bool NeverSent(OperationId operation) const;
  bool Has(OperationId operation) const { return pending_.contains(operation); }
  /// Does not send the write again, and ignores its answers. A copy that is in flight may still be
  /// applied. Does nothing if the write is not pending.
  void Drop(OperationId operation) { pending_.erase(operation); }
  /// The session is lost: drops all writes except those of operators (kRequests).
  void DropOfSession();
  /// The number of pending writes.
  std::size_t size() const { return pending_.size(); }

 private:
  struct Pending {
    WriteOwner owner;
    std::shared_ptr<const Write> write;
    TimePoint resend_at;  ///< max: a copy is in flight
    Duration pause;
    std::optional<std::vector<Outcome>> earlier;  ///< set once an answer has left items unknown
    bool may_be_sent = false;  ///< some copy that was answered may have reached etcd
  };
  std::map<OperationId, Pending> pending_;
};

}  // namespace baton::core
