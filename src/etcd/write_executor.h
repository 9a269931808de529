// WriteExecutor: carries guarded writes to etcd, and confirms sessions.
//
// A write with several items is first put as one flat transaction: all items or none. If a guard of
// some item is false, the items are put again as nested transactions, so that one conflict costs
// one item. If a guard that all items share is false, all are refused. A write that is too large
// for one transaction goes in portions, one after another. If a server allows fewer operations than
// expected, the portions become smaller.
//
// Nothing of unknown outcome is retried. After an unknown answer the rest of the write is not sent,
// and the handler gets kUnknown. The caller then sends the unknown items again (Prepare with
// `earlier`). That is safe because every guard is stable: if the lost transaction was applied, its
// guards are false now, the resend is refused, and `read_back` shows what it wrote.
//
// Threads: every method may be called from any thread and never blocks. Each handler is called
// exactly once, on the transport's threads, never from inside the call; it must not block (post and
// return). The executor may be destroyed with calls in flight. Their handlers are still called, and
// portions that were not sent yet are unknown. The transport must outlive the executor and its
// calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/writes.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"

namespace baton::etcd {

/// The outcome of confirming a session.
struct ConfirmResult {
  /// kDone: it committed, and `passed` says whether the session's guards held. Any other outcome
  /// says nothing about the session: it is neither confirmed nor lost.
  Outcome outcome = Outcome::kUnknown;
  bool passed = false;
  Revision revision;            ///< the store's revision when it committed; the watch must reach it
  std::uint64_t raft_term = 0;  ///< of the member that answered
  std::uint64_t cluster_id = 0;
  std::optional<MemberFact> member;  ///< our member key as it is, if not passed
  std::string detail;                ///< one line, if the outcome is not kDone
  bool permanent = false;            ///< credentials or role: trying again will not help
};

/// A write encoded as transactions, ready to be executed once.
class PreparedWrite {
 public:
  virtual ~PreparedWrite() = default;
};

class WriteExecutor {
 public:
  using WriteHandler = std::function<void(WriteResult)>;
  using ConfirmHandler = std::function<void(ConfirmResult)>;

  /// `clock` measures the deadlines of writes; it must outlive the executor's calls.
  WriteExecutor(Transport& transport, Keyspace keyspace, const Clock& clock = Clock::Real());
  ~WriteExecutor();
  WriteExecutor(const WriteExecutor&) = delete;
  WriteExecutor& operator=(const WriteExecutor&) = delete;

  /// Encodes a write without sending it. For callers that care about the moment of sending:
  /// encoding a batch takes some hundred microseconds.
  ///
  /// `earlier`: if this is a resend, the `items` of the last result (missing ones count as
  /// unknown). Only unknown items are sent; the result repeats the others. Several unknown items
  /// are put as nested transactions at once, so that a write of many portions makes progress even
  /// if etcd answers slowly. If the server refuses the request itself (credentials, too large), a
  /// first copy is refused, but the items of a resend stay unknown: an earlier copy may still be
  /// applied.
  ///
  /// REQUIRES: a batch has at least one item, and no two items for the same key; its sessions,
  /// terms and create revisions are above 0; `earlier` has something unknown.
  std::shared_ptr<PreparedWrite> Prepare(const Write& write,
                                         std::optional<std::vector<Outcome>> earlier = {}) const;

  /// Sends the write. `deadline` is for the whole write: items not answered by then are unknown.
  /// REQUIRES: this executor prepared it, and it was not executed before.
  void Execute(std::shared_ptr<PreparedWrite> write, std::chrono::milliseconds deadline,
               WriteHandler handler);

  /// Checks in one transaction that our member key still has the session's lease and create
  /// revision. The transaction goes through raft, but makes no new revision and no watch event, and
  /// it works while the database is full.
  void Confirm(const SessionGuard& guard, std::chrono::milliseconds deadline,
               ConfirmHandler handler);

  /// How many operations a transaction may have, as far as known: kMaxTxnOperations. After a server
  /// refused that many, fewer, for ten minutes.
  std::size_t operation_limit() const;

  struct Shared;  ///< what outlives the executor while calls are in flight

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace baton::etcd
