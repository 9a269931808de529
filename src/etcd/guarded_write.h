// GuardedWrite: each kind of write of base/writes.h as etcd's compares and operations.
//
// A GuardedWrite has guards that all its items share, and items with guards of their own. It can be
// put in two shapes. The flat shape is one transaction: all items or none, with the shared guards
// once. The nested shape has a transaction for each item below the shared guards, so that one
// conflict costs one item. Every guard is stable: it compares a mod revision, a create revision, or
// a lease with a session id, and never only the existence of a key. The failure branches read back
// the keys that the guards compare.
//
// Pure functions and plain values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "base/writes.h"
#include "etcd/etcd.pb.h"
#include "etcd/keyspace.h"

namespace baton::etcd {

/// A condition on a key. If the condition does not hold, the write is refused. An absent key has 0
/// in every field.
struct Guard {
  enum class Kind : std::uint8_t { kModIs, kCreateIs, kLeaseIs, kLeaseIsNot };
  std::string key;
  Kind kind = Kind::kModIs;
  std::int64_t number = 0;
  friend auto operator<=>(const Guard&, const Guard&) = default;
};

/// One key to put or delete.
struct Effect {
  std::string key;
  bool deletes = false;
  std::string value = {};
  SessionId lease = {};           ///< 0: no lease
  Revision create_revision = {};  ///< of the key after the put; 0: the write does not know it
  /// True: the same transaction reads the key after the put, because the write does not know the
  /// key's create revision.
  bool read_after = false;
  /// The fact that a read of the key will show, except for the revision; unset if the write does
  /// not know this fact. With it, `value` need not be decoded again.
  std::optional<Fact> fact = {};
};

// Claims come by the ten thousand: this keeps allocations few.
using Guards = boost::container::small_vector<Guard, 2>;
using Effects = boost::container::small_vector<Effect, 1>;

struct GuardedItem {
  Guards guards;
  Effects effects;
};

struct GuardedWrite {
  Guards shared;
  std::vector<GuardedItem> items;
};

/// REQUIRES: a batch has at least one item.
GuardedWrite MakeGuardedWrite(const Keyspace& keyspace, const Write& write);

/// The guards that say that our member key is still the one that this session created: its lease
/// and its create revision.
Guards SessionGuards(const Keyspace& keyspace, const SessionGuard& guard);

/// Adds `guard` to the compares of `txn`.
void AddCompare(const Guard& guard, etcdserverpb::TxnRequest& txn);

enum class Shape { kFlat, kNested };

/// Some of a write's items, to be put as one transaction. Refers to `write`, which must outlive it.
struct Portion {
  const GuardedWrite* write = nullptr;
  std::size_t first = 0;
  std::size_t count = 0;
  Shape shape = Shape::kFlat;

  std::span<const GuardedItem> items() const {
    return std::span(write->items).subspan(first, count);
  }
};

/// The transaction for this portion. It lives on an arena of its own and is shared, not copied, on
/// its way to gRPC, because building and copying took 43 % of a claiming node's time.
std::shared_ptr<const etcdserverpb::TxnRequest> MakeTxn(const Portion& portion);

/// How many operations etcd counts against its limit. For a transaction this is the largest of its
/// numbers of compares, successes and failures, plus the count of its largest nested transaction.
std::size_t CountOperations(const etcdserverpb::TxnRequest& txn);

/// The largest portion that begins at `first`, ends at `end` at the latest, and fits `limit`
/// operations. It has at least one item, even if that item does not fit.
Portion Fit(const GuardedWrite& write, Shape shape, std::size_t first, std::size_t end,
            std::size_t limit);

/// The result of a portion's transaction.
struct PortionAnswer {
  /// One outcome per item of the portion. Empty if a flat transaction of several items was refused
  /// although its shared guards hold, because then no item's outcome is known yet.
  std::vector<Outcome> items;
  /// The facts read back for the shared guards, then the facts that the items wrote or read back,
  /// in the order of the items.
  std::vector<Fact> facts;
  bool shared_refused = false;
};
/// Reads the answer to MakeTxn(portion). If the answer is not shaped like the request, items that
/// it does not cover are kUnknown.
PortionAnswer ReadAnswer(const Keyspace& keyspace, const Portion& portion,
                         const etcdserverpb::TxnResponse& answer);

}  // namespace baton::etcd
