// WriteExecutor: carries guarded writes to etcd, and confirms sessions.
//
// base/writes.h has the writes, their items and guards. The executor sends a write as follows:
//  - First the executor sends all items as one flat transaction: all items or none.
//  - If a guard of one item is false, the executor sends the items again as nested transactions.
//    Then only items with a false guard are refused.
//  - If a guard that all items share is false, all items of the transaction are refused.
//  - If the items have too many operations for one transaction, the executor sends portions, one
//    after another. Each portion has its own outcome: earlier portions stay done, and later
//    portions are still sent.
//  - If a server refuses a portion for too many operations or bytes, the executor sends smaller
//    portions. So an item that is too large by itself is refused alone.
//
// The executor never repeats a transaction of unknown outcome. After such a transaction it does not
// send the rest of the write: those items are kUnknown, too. An answer can fail to match its
// request. Then items whose outcomes the answer does not prove are kUnknown. The rest of the write
// is still sent. The caller sends unknown items again (Prepare with `earlier`). A second copy of an
// item does no harm:
//  - Most items compare the revision of the key that they change. If the first copy was applied,
//    etcd refuses the second copy, and `read_back` shows the result of the first.
//  - MemberUpdate and Abandon have the same result if they are applied twice.
//  - SessionEnd deletes the key whose lease it compares, so etcd refuses a second copy.
//
// The caller merges the `read_back` of every submission into its view. A `read_back` does not cover
// items whose outcomes came from `earlier`.
//
// Threads: any thread may call any method, and no method blocks. Each handler is called exactly
// once, on the transport's threads. There is one exception: while the transport is being destroyed,
// Submit and Confirm call their handlers before they return. A handler must not block, and must not
// call the executor: it should post and return. The executor may be destroyed with calls in flight.
// Then their handlers are still called, and items that were not sent yet are kUnknown. REQUIRES
// (not checked): once the transport is destroyed, only the executor's destructor is called.
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

/// The endpoint that a transaction is sent to.
enum class Through : std::uint8_t {
  kPresentEndpoint,  ///< the endpoint that calls use now
  kAnotherEndpoint,  ///< another endpoint, if there is another
};

/// The outcome of confirming a session.
struct ConfirmResult {
  /// kDone: the transaction committed, and `passed` says whether the session's guards held. Any
  /// other outcome says nothing about the session.
  Outcome outcome = Outcome::kUnknown;
  bool passed = false;
  /// The store's revision when the transaction committed; 0 if not kDone. Once the watch has
  /// reached this revision, the view is as new as this confirmation.
  Revision revision;
  std::uint64_t raft_term = 0;   ///< of the etcd member that answered; 0 if not kDone
  std::uint64_t cluster_id = 0;  ///< etcd's; 0 if not kDone
  /// If `outcome` is kDone and `passed` is false: our member key as the transaction found it. If
  /// the key is gone, `present` is false. Otherwise nullopt.
  std::optional<MemberFact> member;
  std::string detail;      ///< one line, if the outcome is not kDone
  bool permanent = false;  ///< CallStatus::permanent: trying again will not help
};

/// A write from Prepare, which can be submitted once.
class PreparedWrite {
 public:
  virtual ~PreparedWrite() = default;
};

class WriteExecutor {
 public:
  using WriteHandler = std::function<void(WriteResult)>;
  using ConfirmHandler = std::function<void(ConfirmResult)>;

  /// `clock` measures the deadlines of writes. REQUIRES (not checked): `clock` outlives the calls
  /// in flight.
  WriteExecutor(Transport& transport, Keyspace keyspace, const Clock& clock = Clock::Real());
  ~WriteExecutor();
  WriteExecutor(const WriteExecutor&) = delete;
  WriteExecutor& operator=(const WriteExecutor&) = delete;

  /// Encodes a write's first transaction without sending it. This takes hundreds of microseconds
  /// for a batch. So a caller that must send at a certain moment calls Prepare before that moment.
  ///
  /// For a resend, pass the same write, and the `items` of the last result as `earlier`. An item
  /// without an entry in `earlier` counts as unknown, and entries without an item are ignored. Only
  /// unknown items are sent; the result repeats the outcomes of the others. Each run of adjacent
  /// unknown items gets its own transactions, nested from the start if the run has several items.
  ///
  /// The server may refuse a whole portion (CallStatus). Examples: the credentials lack a right, or
  /// one item has too many bytes or operations. The other portions are still sent. Without
  /// `earlier`, the items of the refused portion are kRefused. With `earlier` they stay kUnknown,
  /// because an earlier copy may still be applied. If etcd's database is full, GrpcTransport makes
  /// the outcome kUnknown.
  ///
  /// REQUIRES: MakeGuardedWrite's requirements (guarded_write.h says which of them are checked).
  /// REQUIRES (not checked): a batch has no two items for the same key; `earlier`, if set, has at
  /// least one unknown item.
  std::shared_ptr<PreparedWrite> Prepare(const Write& write,
                                         std::optional<std::vector<Outcome>> earlier = {}) const;

  /// Sends the write. `deadline` is for the whole write: items without an answer by then are
  /// unknown. The first transaction is sent even if `deadline` is 0 or less; it gets 1 ms then.
  /// With a user and no token yet, the transport logs in first, within the same deadline; if the
  /// login fails, nothing is sent, and the outcome is the login's.
  ///
  /// REQUIRES (checked): this executor prepared `write`, and `write` was not submitted before.
  void Submit(std::shared_ptr<PreparedWrite> write, std::chrono::milliseconds deadline,
              WriteHandler handler);

  /// Checks in one transaction that our member key still has the session's lease and create
  /// revision. The transaction goes through raft, but makes no new revision and no watch event. It
  /// works even if the database is full. If etcd does not answer within `deadline`, the outcome is
  /// kUnknown. The transaction is sent even if `deadline` is 0 or less. REQUIRES (checked): the
  /// session and its create revision are above 0.
  void Confirm(const SessionGuard& guard, std::chrono::milliseconds deadline,
               ConfirmHandler handler, Through through = Through::kPresentEndpoint);

  /// The most operations that a transaction may have: kMaxTxnOperations at first, and never below
  /// 1. If a server refuses a transaction of several items for too many operations, the limit falls
  /// to half of them. If the limit is already lower, it stays as it is. Ten minutes after the last
  /// such refusal the limit is kMaxTxnOperations again.
  std::size_t operation_limit() const;

  struct Shared;  ///< the part that outlives the executor while calls are in flight

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace baton::etcd
