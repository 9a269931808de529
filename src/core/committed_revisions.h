// CommittedRevisions: the store's revisions in the answers to this node's writes and confirmations.
// They show whether etcd went back in time, because somebody restored a backup under the same
// addresses.
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

  /// Notes the writes and confirmations among these actions as sent. If a write is sent again, the
  /// first time counts.
  void NoteSent(const std::vector<Action>& actions);
  /// The operation has a definite outcome: it committed, or a guard was false, when the store had
  /// `revision`. Forgets the operation. If `revision` is below highest() at the time of the
  /// sending, sets went_back. Otherwise raises highest() to `revision`, if this is higher. An
  /// operation that was not noted as sent, or was forgotten, never sets went_back. If `revision` is
  /// 0 (not known), neither went_back nor highest() changes.
  void NoteCommitted(OperationId operation, Revision revision);
  /// Notes the revision of this run's first read of everything. REQUIRES (not checked): the read
  /// began before the first write of this run.
  void NoteFirstRead(Revision revision) {
    if (revision < highest_) begun_below_ = revision;
  }
  /// The operation did not commit, or nobody knows whether it did. A later answer to it never sets
  /// went_back.
  void Forget(OperationId operation) { before_.erase(operation); }
  /// Forgets all operations that are not in `pending`, and all confirmations.
  void ForgetAllBut(const PendingWrites& pending);

  /// The highest revision that NoteCommitted accepted, also in earlier runs; 0: unknown.
  Revision highest() const { return highest_; }

  struct WentBack {
    Revision earlier;  ///< highest() when the later operation was sent; may be of an earlier run
    Revision later;    ///< of the later operation; lower than `earlier`
  };
  /// Set for ever once NoteCommitted got a revision below highest() at the operation's sending:
  /// etcd went back in time. nullopt: this was not seen.
  const std::optional<WentBack>& went_back() const { return went_back_; }
  /// The revision of the first read, if it is below the highest revision of earlier runs: etcd went
  /// back in time since those runs. Otherwise nullopt.
  std::optional<Revision> begun_below() const { return begun_below_; }

 private:
  Revision highest_;
  std::optional<WentBack> went_back_;
  std::optional<Revision> begun_below_;
  std::map<OperationId, Revision> before_;  ///< highest_ when the operation was sent
};

}  // namespace baton::core
