// GuardedWrite: each kind of write of base/writes.h as etcd's compares and operations.
//
// A GuardedWrite has guards that all its items share, and items with guards of their own. If a
// shared guard is false, all items are refused. guarded_txn.h turns a GuardedWrite into
// transactions. Their shape decides whether a false guard of one item refuses this item alone, or
// all items.
//
// Every guard compares a key's mod revision or create revision with a number, or the key's lease
// with a session id. Such a guard is stable: once false, it is false for ever. There are three
// exceptions:
//  - A guard that compares with 0 demands that the key is absent. It holds again once the key is
//    deleted. An example is the guard of a claim of an absent record.
//  - The guard that no key of a range was written holds again once the written key is deleted.
//  - kLeaseIsNot demands that a session has ended. It is false while the session lives, then true.
// If a write has a guard of the first two kinds, it also changes a key whose revision it compares.
// So a late copy of the write is refused, unless that key was deleted again before the copy
// arrives.
//
// Pure functions and plain values; any thread.
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
  bool common = false;  ///< other items may have the same guard; a flat transaction has it once
  friend auto operator<=>(const Guard&, const Guard&) = default;
};

/// One key to put or delete.
struct Effect {
  std::string key;
  bool deletes = false;
  std::string value = {};
  SessionId lease = {};           ///< 0: no lease
  Revision create_revision = {};  ///< the key's, after the put; 0: the write does not know it
  /// True: the same transaction reads the key after the put, because the write does not know the
  /// key's create revision.
  bool read_after = false;
  /// The fact that a read of the key will show, except for the revision. Unset: the write does not
  /// know this fact, and `value` is decoded instead.
  std::optional<Fact> fact = {};
};

// A batch may have thousands of items, so these avoid most allocations.
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

/// REQUIRES:
///  - A batch has at least one item (checked).
///  - These are above 0: sessions, terms, create revisions, MemberTakeover::read,
///    Transfer::move_read, and at least one of RipeMark's up_to and read. But ForceRelease::dead
///    may have session 0 if `quarantined` is set. All these are checked, except the sessions of
///    Transfer::to, Claim::dead and ResignBatch::from, and MoveBatch::balancer_term.
///  - A MemberUpdate's record is of its guard's node and session (checked).
GuardedWrite MakeGuardedWrite(const Keyspace& keyspace, const Write& write);

/// The guards that our member key is still the key that this session created: its lease and its
/// create revision. REQUIRES (checked): both are above 0.
Guards SessionGuards(const Keyspace& keyspace, const SessionGuard& guard);

}  // namespace baton::etcd
