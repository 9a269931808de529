// GuardedWrite: each kind of write of base/writes.h as etcd's compares and operations.
//
// A GuardedWrite has guards that all its items share, and items with guards of their own. Every
// guard compares a mod revision, a create revision, or a lease with a session id. Such a guard is
// stable: once false, it is false for ever. Two kinds of guards are not: one that compares an
// absent key's 0 holds again once the key is deleted (the claim of an absent record, the first
// config), and so does one that no key of a range was written, once the written key is deleted. A
// write with such a guard changes a key whose mod revision it compares, so a late copy of it is
// refused, unless that key has been deleted meanwhile. guarded_txn.h makes transactions of a
// GuardedWrite.
//
// Pure functions and plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "base/writes.h"
#include "etcd/keyspace.h"

namespace baton::etcd {

/// A condition on a key. If the condition does not hold, the write is refused. An absent key has 0
/// in every field.
struct Guard {
  enum class Kind : std::uint8_t {
    kModIs,
    kCreateIs,
    kLeaseIs,
    kLeaseIsNot,
    kModsUpTo,  ///< no key that begins with `key` was written after revision `number`
  };
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

}  // namespace baton::etcd
