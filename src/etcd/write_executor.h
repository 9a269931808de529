// WriteExecutor: carries guarded writes to etcd, and confirms sessions.
//
// The executor first puts a write with several items as one flat transaction: all items or none. If
// a guard of some item is false, it puts the items again as nested transactions, so that one
// conflict costs one item. If a guard that all items share is false, all items are refused. If a
// write has too many operations for one transaction, the executor sends it in portions, one after
// another. If a server allows fewer operations than expected, the portions become smaller. Only
// "too many operations" makes portions smaller: a transaction with too many bytes is refused whole.
//
// The executor never repeats a transaction of unknown outcome. After an unknown answer it does not
// send the rest of the write, and the handler gets kUnknown. There is one exception: etcd answers,
// but its answer does not match the request. Then only the items that the answer does not cover
// become kUnknown, and the rest of the write is still sent. The caller then sends the unknown items
// again (Prepare with `earlier`). To send unknown items again is safe. Most items change a key
// whose revision they compare: if the lost transaction was applied, the second one is refused, and
// `read_back` shows what the lost one wrote. Two kinds of items do not compare the revision of the
// key that they change: an update of our member key, and the removal of an outdated move. If such
// an item is applied twice, the result is the same.
//
// Merge the `read_back` of each submission: it holds what the items of this submission wrote, and
// nothing of the items that `earlier` says are done.
//
// Threads: any thread may call any method, and no method blocks. Each handler is called exactly
// once, on the transport's threads. It is never called from inside the call, with one exception: a
// call made while the transport's destructor waits is answered at once, from inside. A handler must
// not block, and must not call the executor: it should post and return. The executor may be
// destroyed with calls in flight. Their handlers are still called, and items that were not sent yet
// are kUnknown. The transport's destructor may return only after every method of the executor has
// returned.
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

/// Where a transaction is sent.
enum class Through : std::uint8_t {
  kPresentEndpoint,  ///< the one that calls use now
  kAnotherEndpoint,  ///< another one, if there is one
};

/// The outcome of confirming a session.
struct ConfirmResult {
  /// kDone: the transaction committed, and `passed` says whether the session's guards held. Any
  /// other outcome says nothing about the session: the session is neither confirmed nor lost.
  Outcome outcome = Outcome::kUnknown;
  bool passed = false;
  /// The store's revision at that moment. Once the watch has delivered it, the view is as new as
  /// this confirmation.
  Revision revision;
  std::uint64_t raft_term = 0;  ///< of the member that answered
  std::uint64_t cluster_id = 0;
  /// Our member key as it is now, if `outcome` is kDone and `passed` is false; otherwise nullopt.
  /// If the key is gone, its `present` is false.
  std::optional<MemberFact> member;
  std::string detail;      ///< one line, if the outcome is not kDone
  bool permanent = false;  ///< credentials or role: trying again will not help
};

/// A write encoded as transactions, ready to be submitted once.
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

  /// Encodes a write without sending it. For callers that care about the moment of sending: to
  /// encode a batch takes some hundred microseconds.
  ///
  /// For a resend, pass the `items` of the last result as `earlier`. An item beyond their end
  /// counts as unknown. Only unknown items are sent; the result repeats the outcomes of the others.
  /// Several unknown items are put as nested transactions from the start, so that a write of many
  /// portions makes progress even if etcd answers slowly.
  ///
  /// A refusal by the server itself (credentials, too many bytes, or one item with too many
  /// operations) is not an unknown answer: the other portions are still sent. Without `earlier` the
  /// items of that transaction become kRefused. With `earlier` they stay kUnknown, because the
  /// transaction that was sent before may still be applied.
  ///
  /// REQUIRES: a batch has at least one item, and no two items for the same key; its sessions,
  /// terms and create revisions are above 0; `earlier`, if set, has at least one unknown item.
  std::shared_ptr<PreparedWrite> Prepare(const Write& write,
                                         std::optional<std::vector<Outcome>> earlier = {}) const;

  /// Sends the write. `deadline` is for the whole write: items without an answer by then are
  /// unknown. The first transaction is sent even if `deadline` is 0 or less; it has 1 ms then.
  ///
  /// REQUIRES: this executor prepared it, and it was not submitted before.
  void Submit(std::shared_ptr<PreparedWrite> write, std::chrono::milliseconds deadline,
              WriteHandler handler);

  /// Checks in one transaction that our member key still has the session's lease and create
  /// revision. The transaction goes through raft, but makes no new revision and no watch event. It
  /// works even if the database is full.
  void Confirm(const SessionGuard& guard, std::chrono::milliseconds deadline,
               ConfirmHandler handler, Through through = Through::kPresentEndpoint);

  /// The most operations that a transaction may have: kMaxTxnOperations. After a server refused a
  /// transaction with too many operations, the limit is at most half of that transaction's
  /// operations, for ten minutes. If that is refused too, half of it again, down to 1, and the ten
  /// minutes begin again. A refused transaction with one item does not change the limit.
  std::size_t operation_limit() const;

  struct Shared;  ///< what outlives the executor while calls are in flight

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace baton::etcd
