// Guarded writes as etcd transactions: each kind of base/writes.h, in compares and operations.
//
// A write becomes a GuardedWrite: guards that all its items share, and items with guards of their
// own. It can be put as one flat transaction (all items or none, shared guards once) or as nested
// transactions below the shared guards (each item for itself, so that one conflict costs one item).
// Every guard is stable: a mod revision, a create revision, or a session id compared with a lease;
// never mere existence. Failure branches read back the keys that the guards compare.
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

/// What must be true of a key for a write to be done. An absent key has 0 in every field.
struct Guard {
  enum class Kind : std::uint8_t { kModIs, kCreateIs, kLeaseIs, kLeaseIsNot };
  std::string key;
  Kind kind = Kind::kModIs;
  std::int64_t number = 0;
  friend auto operator<=>(const Guard&, const Guard&) = default;
};

/// A key's put or deletion.
struct Effect {
  std::string key;
  bool deletes = false;
  std::string value = {};
  SessionId lease = {};           ///< 0: none
  Revision create_revision = {};  ///< of the key after a put, where the write knows it
  /// Read the key in the same transaction after the put: its create revision isn't known before.
  bool read_after = false;
  /// What a read of the key will say but for the revision, where the write knows it: it need not be
  /// decoded from `value` again.
  std::optional<Fact> fact = {};
};

// Claims come by the ten thousand: few allocations for each.
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

/// REQUIRES: at least one item in a batch.
GuardedWrite MakeGuardedWrite(const Keyspace& keyspace, const Write& write);

/// The guard "our member key is still the one this session created": its lease and create revision.
Guards SessionGuards(const Keyspace& keyspace, const SessionGuard& guard);

/// Adds `guard` to what `txn` compares.
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

/// Lives on an arena of its own.
std::shared_ptr<const etcdserverpb::TxnRequest> MakeTxn(const Portion& portion);

/// What etcd counts against its limit: the greatest of compares, successes and failures, and, where
/// transactions are nested, that plus the greatest of theirs.
std::size_t CountOperations(const etcdserverpb::TxnRequest& txn);

/// The greatest portion from `first` on, of at most `end - first` items, that fits `limit`
/// operations; at least one item, even if that does not fit.
Portion Fit(const GuardedWrite& write, Shape shape, std::size_t first, std::size_t end,
            std::size_t limit);

/// What a portion's answer says.
struct PortionAnswer {
  /// One per item of the portion. Empty: a flat transaction of several items was refused while its
  /// shared guards hold; the fate of each is still open.
  std::vector<Outcome> items;
  /// What was read back for the shared guards, then what the items left or read back, in order.
  std::vector<Fact> facts;
  bool shared_refused = false;
};
/// Reads the answer to MakeTxn(portion). An answer that is not shaped like the request says
/// kUnknown for what it doesn't tell.
PortionAnswer ReadAnswer(const Keyspace& keyspace, const Portion& portion,
                         const etcdserverpb::TxnResponse& answer);

}  // namespace baton::etcd
