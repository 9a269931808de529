// Guarded writes as etcd's transactions: builds the request for a portion of a write, and reads the
// answer.
//
// A portion has one of two shapes. The flat shape is one transaction: all items or none. The nested
// shape has a transaction for each item inside one outer transaction, so that one conflict costs
// one item. Both shapes compare a shared guard once.
//
// A transaction that is refused reads back the keys that its guards compare, with two exceptions. A
// flat transaction of several items reads back only the keys of the shared guards. The range of a
// kModsUpTo guard is never read back.
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

/// Some adjacent items of a write, to be sent as one transaction. REQUIRES (not checked): `write`
/// outlives the portion.
struct Portion {
  const GuardedWrite* write = nullptr;
  std::size_t first = 0;
  std::size_t count = 0;
  Shape shape = Shape::kFlat;

  std::span<const GuardedItem> items() const {
    return std::span(write->items).subspan(first, count);
  }
};

/// Returns the transaction for this portion, on an arena of its own. Share it: a copy costs much
/// time. REQUIRES (checked): the portion has an item.
std::shared_ptr<const etcdserverpb::TxnRequest> MakeTxn(const Portion& portion);

/// How many operations of `txn` etcd counts against its limit (--max-txn-ops). This is the largest
/// of three numbers (compares, operations in `success`, operations in `failure`), plus the count of
/// the largest nested transaction.
std::size_t CountOperations(const etcdserverpb::TxnRequest& txn);

/// Returns the largest portion that begins at `first`, ends at `end` at the latest, and fits
/// `limit` operations. Returns one item even if this item does not fit. REQUIRES (checked): first <
/// end <= write.items.size().
Portion Fit(const GuardedWrite& write, Shape shape, std::size_t first, std::size_t end,
            std::size_t limit);

/// The result of a portion's transaction.
struct PortionAnswer {
  /// One outcome for each item of the portion. Empty if a flat transaction of several items was
  /// refused, and no shared guard is known to be false. Then nobody knows which items caused the
  /// refusal.
  std::vector<Outcome> items;
  /// First come the facts that were read back for the shared guards. Then come those that the items
  /// wrote or read back, in the order of the items. For a refused flat portion of one item: in the
  /// order of keys.
  std::vector<Fact> facts;
  /// Whether a shared guard is known to be false. Then all items were refused.
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
