// PendingWrites: the writes whose outcome is not definite yet, and the part that each outcome goes
// to.
//
// It sends the unknown items of a write again, each unchanged, with a growing backoff, until all
// are definite or the write is dropped.
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

/// The part of the core that submitted a write. The outcome goes to it.
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
    /// No answer to an earlier copy left an item unknown.
    bool sent_once = true;
  };

  /// Appends the write's first copy to `actions`. REQUIRES: `operation` is new.
  void Submit(OperationId operation, WriteOwner owner, Write&& write, std::vector<Action>& actions);
  /// Records an answer. Returns the write if this answer makes its outcome definite. Returns
  /// nullopt if the outcome is still unknown, or if the write is not pending here.
  std::optional<Settled> Settle(const WriteAnswered& event, TimePoint now);
  /// Sends the copies that are due. Lowers `wake_at` to the time of the next one.
  void Advance(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at);

  /// Whether an answer left some item unknown, so that the write may be applied, now or later.
  bool Unknown(OperationId operation) const;
  /// Whether all copies so far were answered, and none of them reached etcd. Then a write that is
  /// dropped is never applied.
  bool NeverSent(OperationId operation) const;
  bool Has(OperationId operation) const { return pending_.contains(operation); }
  void Drop(OperationId operation) { pending_.erase(operation); }
  /// Drops all writes except those of operators: only the lost session wanted the others.
  void DropOfSession();
  std::size_t size() const { return pending_.size(); }

 private:
  struct Pending {
    WriteOwner owner;
    std::shared_ptr<const Write> write;
    TimePoint resend_at;
    Duration pause;
    std::optional<std::vector<Outcome>> earlier;  ///< set when an answer has left items unknown
    bool may_be_sent = false;  ///< some copy that was answered may have reached etcd
  };
  std::map<OperationId, Pending> pending_;
};

}  // namespace baton::core
