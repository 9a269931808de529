// WriteExecutor: carries guarded writes to etcd, and confirms sessions.
//
// The executor first sends a write with several items as one flat transaction: all items or none.
// If a guard of one item is false, the executor sends the items again as nested transactions: then
// only items with a false guard are refused. If a guard that all items share is false, all items of
// that transaction are refused. If a write has too many operations for one transaction, the
// executor sends it in portions, one after another. Each portion is judged by itself: earlier ones
// stay done, and later ones are still sent. If a server allows fewer operations than expected, the
// portions become smaller. If a server refuses a portion because it has too many bytes, the portion
// is sent in two halves, and so on. So an item that is too large by itself is refused alone.
//
// The executor never repeats a transaction of unknown outcome. Without a definite answer it does
// not send the rest of the write: these items are kUnknown, too, and so is the whole result. If an
// answer does not match the request, some items may be kUnknown because the answer does not prove
// their outcomes; the rest of the write is still sent. In both cases the caller sends the unknown
// items again (Prepare with `earlier`). That is safe. Most items change a key whose revision they
// compare. If the first transaction was applied after all, the second one is refused, and
// `read_back` shows the result of the first one. Three kinds of items do not compare the revision
// of the key that they change. MemberUpdate has the same result if it is applied twice. So has
// Abandon, which deletes a move. SessionEnd deletes the key whose lease it compares, so a second
// one is refused.
//
// The caller merges the `read_back` of every submission into its view. Each `read_back` covers only
// the items that this submission sent, not those whose outcomes were known from `earlier`.
//
// Threads: any thread may call any method, and no method blocks. Each handler is called exactly
// once, on the transport's threads. There is one exception: while the transport is being destroyed,
// Submit and Confirm call their handlers themselves, before they return. A handler must not block,
// and must not call the executor: it should post and return. The executor may be destroyed with
// calls in flight. Their handlers are still called, and items that were not sent yet are kUnknown.
// REQUIRES (not checked): after the transport's destructor has returned, no method runs except the
// executor's destructor.
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
  kAnotherEndpoint,  ///< another endpoint, if there is one
};

/// The outcome of confirming a session.
struct ConfirmResult {
  /// kDone: the transaction committed, and `passed` says whether the session's guards held. Any
  /// other outcome says nothing about the session: the session is neither confirmed nor lost.
  Outcome outcome = Outcome::kUnknown;
  bool passed = false;
  /// The store's revision when the transaction committed; 0 unless kDone. Once the watch has
  /// reached this revision, the view is as new as this confirmation.
  Revision revision;
  std::uint64_t raft_term = 0;   ///< of the etcd member that answered; 0 unless kDone
  std::uint64_t cluster_id = 0;  ///< etcd's; 0 unless kDone
  /// Our member key as the transaction found it, if `outcome` is kDone and `passed` is false;
  /// otherwise nullopt. If the key is gone, its `present` is false.
  std::optional<MemberFact> member;
  std::string detail;      ///< one line, if the outcome is not kDone
  bool permanent = false;  ///< CallStatus::permanent: trying again will not help
};

/// A write that Prepare made ready to be submitted once.
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
  /// for a batch, so a caller that must send at a certain moment calls Prepare before that moment.
  ///
  /// For a resend, pass the same write, and the `items` of the last result as `earlier`. An item
  /// without an entry in `earlier` counts as unknown, and entries without an item are ignored. Only
  /// unknown items are sent; the result repeats the outcomes of the others. Each run of adjacent
  /// unknown items is sent by itself. A run of several items is sent as nested transactions from
  /// the start. Otherwise the flat transaction, which is likely to be refused, could use up the
  /// time for the nested ones, each time that the write is sent again.
  ///
  /// The server itself may refuse a portion's transaction: because of credentials, or because one
  /// item has too many bytes or operations (CallStatus). This is a definite answer for that portion
  /// alone: the others are still sent. Without `earlier` the portion's items become kRefused. With
  /// `earlier` they stay kUnknown, because the transaction that was sent before may still be
  /// applied. If etcd's database is full, GrpcTransport makes the outcome kUnknown.
  ///
  /// REQUIRES: MakeGuardedWrite's requirements (guarded_write.h says which of them are checked).
  /// REQUIRES (not checked): a batch has no two items for the same key; `earlier`, if set, has at
  /// least one unknown item.
  std::shared_ptr<PreparedWrite> Prepare(const Write& write,
                                         std::optional<std::vector<Outcome>> earlier = {}) const;

  /// Sends the write. `deadline` is for the whole write: items without an answer by then are
  /// unknown. The first transaction is sent even if `deadline` is 0 or less; it has 1 ms then.
  ///
  /// REQUIRES (checked): this executor prepared it, and it was not submitted before.
  void Submit(std::shared_ptr<PreparedWrite> write, std::chrono::milliseconds deadline,
              WriteHandler handler);

  /// Checks in one transaction that our member key still has the session's lease and create
  /// revision. The transaction goes through raft, but makes no new revision and no watch event. It
  /// works even if the database is full. If etcd does not answer within `deadline`, the outcome is
  /// kUnknown. Like Submit, sends it even if `deadline` is 0 or less. REQUIRES (checked): the
  /// session and its create revision are above 0.
  void Confirm(const SessionGuard& guard, std::chrono::milliseconds deadline,
               ConfirmHandler handler, Through through = Through::kPresentEndpoint);

  /// The most operations that a transaction may have: kMaxTxnOperations at first. If a server
  /// refuses a transaction of several items for too many operations, the limit becomes half of that
  /// transaction's operations, unless it is lower already. It is never below 1. Ten minutes after
  /// the last such refusal it is kMaxTxnOperations again.
  std::size_t operation_limit() const;

  struct Shared;  ///< the part that outlives the executor while calls are in flight

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace baton::etcd
