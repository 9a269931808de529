// Guarded writes as etcd's transactions: builds the request for a portion of a write, and reads its
// answer.
//
// A portion has one of two shapes. The flat shape is one transaction: all items or none. The nested
// shape is a transaction with one transaction in it for each item, so that one conflict costs one
// item. In both shapes, a guard that all items share is compared once. A transaction that is
// refused reads back the keys that its guards compare, with two exceptions: a flat transaction of
// several items reads back only the keys of the shared guards, and the range of a kModsUpTo guard
// is never read back.
//
// Pure functions and plain values; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/writes.h"
#include "etcd/etcd.pb.h"
#include "etcd/guarded_write.h"
#include "etcd/keyspace.h"

namespace baton::etcd {

/// Adds `guard` to the compares of `txn`.
void AddCompare(const Guard& guard, etcdserverpb::TxnRequest& txn);

enum class Shape { kFlat, kNested };

/// Some adjacent items of a write, to be sent as one transaction. REQUIRES: `write` outlives it.
struct Portion {
  const GuardedWrite* write = nullptr;
  std::size_t first = 0;
  std::size_t count = 0;
  Shape shape = Shape::kFlat;

  std::span<const GuardedItem> items() const {
    return std::span(write->items).subspan(first, count);
  }
};

/// The transaction for this portion. It lives on an arena of its own, and nobody copies it on its
/// way to gRPC, because building and copying took 43 % of a claiming node's time. REQUIRES
/// (checked): the portion has an item.
std::shared_ptr<const etcdserverpb::TxnRequest> MakeTxn(const Portion& portion);

/// How many operations of `txn` etcd counts against its limit (--max-txn-ops). This is the largest
/// of three numbers (compares, operations in `success`, operations in `failure`), plus the count of
/// the largest nested transaction.
std::size_t CountOperations(const etcdserverpb::TxnRequest& txn);

/// Returns the largest portion that begins at `first`, ends at `end` at the latest, and fits
/// `limit` operations. The portion has at least one item, even if that item does not fit. REQUIRES
/// (checked): first < end <= write.items.size().
Portion Fit(const GuardedWrite& write, Shape shape, std::size_t first, std::size_t end,
            std::size_t limit);

/// The result of a portion's transaction.
struct PortionAnswer {
  /// One outcome per item of the portion. Empty: a flat transaction of several items was refused,
  /// and no shared guard is known to be false. Then nobody knows which items caused that.
  std::vector<Outcome> items;
  /// The facts read back for the shared guards, then the facts that the items wrote or read back,
  /// in the order of the items. A refused flat portion of one item has them in the order of keys.
  std::vector<Fact> facts;
  /// Whether a shared guard is known to be false: then all items were refused.
  bool shared_refused = false;
  /// Why items were refused, as one line; empty if no item was refused.
  std::string why;
};
/// Reads the answer to MakeTxn(portion). If a refused answer has another shape than the portion,
/// nothing counts as read back. If an answer with `succeeded` has another shape than the portion:
///  - Flat portion: all items are kDone, whatever else the answer holds.
///  - Nested portion, and the number of results is not the number of items: all items are kUnknown.
///  - Nested portion, and an item's result is not a transaction's: this item is kUnknown.
PortionAnswer ReadAnswer(const Keyspace& keyspace, const Portion& portion,
                         const etcdserverpb::TxnResponse& answer);

}  // namespace baton::etcd
