// CommittedRevisions: the revisions at which this node's writes and confirmations committed. They
// show if etcd went back in time, because somebody restored a backup under the same addresses.
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

  /// Notes the writes and confirmations among these actions as sent. A later copy of a write
  /// changes nothing.
  void NoteSent(const std::vector<Action>& actions);
  /// Notes that the operation committed at `revision`, and forgets the operation. `revision` 0
  /// means that it is not known. See went_back.
  void NoteCommitted(OperationId operation, Revision revision);
  /// Notes the revision of a read of everything that came before any write of this run.
  void NoteFirstRead(Revision revision) {
    if (revision < highest_) begun_below_ = revision;
  }
  /// The operation did not commit, or nobody knows whether it did.
  void Forget(OperationId operation) { before_.erase(operation); }
  /// Forgets all operations that are not in `pending`.
  void ForgetAllBut(const PendingWrites& pending);

  /// The highest revision at which a write or confirmation of this node committed, also in earlier
  /// runs; 0: unknown.
  Revision highest() const { return highest_; }

  struct WentBack {
    Revision earlier;  ///< of a commit that was known when another one was sent
    Revision later;    ///< of that other one, which is lower
  };
  /// Set for ever once etcd went back in time between two commits of this run. Looks only at
  /// operations that were noted as sent and not forgotten.
  const std::optional<WentBack>& went_back() const { return went_back_; }
  /// The revision of the first read, if it is below highest(): etcd went back in time since an
  /// earlier run of this node. Otherwise nullopt.
  std::optional<Revision> begun_below() const { return begun_below_; }

 private:
  Revision highest_;
  std::optional<WentBack> went_back_;
  std::optional<Revision> begun_below_;
  std::map<OperationId, Revision> before_;  ///< highest_ when the operation was sent
};

}  // namespace baton::core
