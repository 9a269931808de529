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
  /// Notes that the operation committed at `revision`, and forgets the operation. If a commit that
  /// was known when the operation was sent has a higher revision, etcd went back in time: returns
  /// that higher revision. Otherwise nullopt. Always nullopt if `revision` is 0, which means that
  /// it is not known, and for an operation that was not noted as sent or was forgotten.
  std::optional<Revision> NoteCommitted(OperationId operation, Revision revision);
  /// The operation did not commit, or nobody knows whether it did.
  void Forget(OperationId operation) { before_.erase(operation); }
  /// Forgets all operations that are not in `pending`.
  void ForgetAllBut(const PendingWrites& pending);

  /// The highest revision at which a write or confirmation of this node committed, also in earlier
  /// runs; 0: unknown.
  Revision highest() const { return highest_; }

 private:
  Revision highest_;
  std::map<OperationId, Revision> before_;  ///< highest_ when the operation was sent
};

}  // namespace baton::core
