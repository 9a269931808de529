// CommittedRevisions: the revisions of the store that the answers to this node's writes and
// confirmations showed. They show whether etcd went back in time, because somebody restored a
// backup under the same addresses.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/events.h"
#include "core/pending_writes.h"

namespace baton::core {

class CommittedRevisions {
 public:
  /// `highest`: the highest revision of earlier runs of this node; 0: unknown.
  explicit CommittedRevisions(Revision highest) : highest_(highest) {}

  /// Notes the writes and confirmations among these actions as sent. Later copies of a write change
  /// nothing.
  void NoteSent(const std::vector<Action>& actions);
  /// The operation's outcome is definite: it committed, or a guard was false, when the store had
  /// `revision`. Forgets the operation. Sets went_back if `revision` is below highest() at the time
  /// of the sending. Otherwise raises highest() to `revision`. An operation that was not noted as
  /// sent, or was forgotten, never sets went_back. If `revision` is 0, it is not known, and neither
  /// happens.
  void NoteCommitted(OperationId operation, Revision revision);
  /// Notes the revision of this run's first read of everything. REQUIRES (not checked): it began
  /// before the first write of this run.
  void NoteFirstRead(Revision revision) {
    if (revision < highest_) begun_below_ = revision;
  }
  /// The operation did not commit, or nobody knows whether it did. If its answer still comes,
  /// went_back ignores it.
  void Forget(OperationId operation) { before_.erase(operation); }
  /// Forgets all operations that are not in `pending`, also all confirmations.
  void ForgetAllBut(const PendingWrites& pending);

  /// The highest of the revisions that NoteCommitted accepted, also in earlier runs; 0: unknown.
  Revision highest() const { return highest_; }

  struct WentBack {
    Revision earlier;  ///< highest() when the later operation was sent, perhaps of an earlier run
    Revision later;    ///< of the later operation; lower than `earlier`
  };
  /// Set for ever once NoteCommitted got a revision below highest() at the operation's sending:
  /// etcd went back in time. Nullopt: this was not seen.
  const std::optional<WentBack>& went_back() const { return went_back_; }
  /// The revision of the first read, if it is below the highest revision of earlier runs: etcd went
  /// back in time since then. Otherwise nullopt.
  std::optional<Revision> begun_below() const { return begun_below_; }

 private:
  Revision highest_;
  std::optional<WentBack> went_back_;
  std::optional<Revision> begun_below_;
  std::map<OperationId, Revision> before_;  ///< highest_ when the operation was sent
};

}  // namespace baton::core
