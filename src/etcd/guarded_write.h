// GuardedWrite: each kind of write of base/writes.h as etcd's compares and operations.
//
// It consists of guards that all its items share, and items with guards of their own. It can be put
// as one flat transaction: all items or none, with shared guards once. Or as nested transactions
// below the shared guards: each item for itself, so that one conflict costs one item. Every guard
// is stable: a mod revision, a create revision, or a session id compared with a lease; never mere
// existence. The failure branches read back the keys that the guards compare.
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

/// A condition on a key that must hold, or the write is refused. An absent key has 0 in every
/// field.
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
  Revision create_revision = {};  ///< the key's after a put, if the write knows it
  /// Read the key in the same transaction after the put, because its create revision isn't known
  /// before.
  bool read_after = false;
  /// The fact that a read of the key will show, except for the revision, if the write knows it. It
  /// saves decoding `value` again.
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

/// The guards "our member key is still the one this session created": its lease and create
/// revision.
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
/// its way to gRPC: building and copying took 43 % of a claiming node's time.
std::shared_ptr<const etcdserverpb::TxnRequest> MakeTxn(const Portion& portion);

/// How many operations etcd counts against its limit: the largest of the numbers of compares,
/// successes and failures; plus the same of the largest nested transaction.
std::size_t CountOperations(const etcdserverpb::TxnRequest& txn);

/// The largest portion from `first` on, up to `end`, that fits `limit` operations; at least one
/// item, even if that does not fit.
Portion Fit(const GuardedWrite& write, Shape shape, std::size_t first, std::size_t end,
            std::size_t limit);

/// The result of a portion's transaction.
struct PortionAnswer {
  /// One per item of the portion. Empty if a flat transaction of several items was refused although
  /// its shared guards hold: then no item's outcome is known yet.
  std::vector<Outcome> items;
  /// The facts read back for the shared guards, then those that the items left or read back, in
  /// order.
  std::vector<Fact> facts;
  bool shared_refused = false;
};
/// Reads the answer to MakeTxn(portion). If the answer is not shaped like the request, items that
/// it does not cover are kUnknown.
PortionAnswer ReadAnswer(const Keyspace& keyspace, const Portion& portion,
                         const etcdserverpb::TxnResponse& answer);

}  // namespace baton::etcd
