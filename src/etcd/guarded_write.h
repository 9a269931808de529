// GuardedWrite: each kind of write of base/writes.h as etcd's compares and operations.
//
// A GuardedWrite has guards that all its items share, and items with guards of their own. If a
// shared guard is false, all items are refused. If an item's own guard is false, the shape of the
// transaction (guarded_txn.h) decides whether this item alone or all items are refused.
//
// Every guard compares a key's mod revision or create revision with a number, or the key's lease
// with a session id. A guard is stable: once false, it is false for ever. There are three
// exceptions:
//  - A guard that compares with 0 demands that the key is absent, as in a claim of an absent
//    record. This guard holds again once the key is deleted.
//  - kModsUpTo demands that no key of a range was written. It holds again once the written key is
//    deleted.
//  - kLeaseIsNot demands that a session has ended. It is false while the session lives, then true.
//
// A write with a guard of the first two kinds also changes a key whose revision it compares. So a
// late copy of the write is refused, except if that key was deleted again before.
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

/// A condition on a key. If it does not hold, the write is refused. An absent key has 0 in every
/// field.
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
  bool common = false;  ///< several items may have this guard; a flat transaction has it once
  friend auto operator<=>(const Guard&, const Guard&) = default;
};

/// One key to put or delete.
struct Effect {
  std::string key;
  bool deletes = false;
  std::string value = {};
  SessionId lease = {};           ///< 0: no lease
  Revision create_revision = {};  ///< the key's, after the put; 0: not known to the write
  /// Whether the transaction reads the key after the put, for its create revision.
  bool read_after = false;
  /// The fact that a read of the key will show, without its version and revisions. Unset: `value`
  /// is decoded instead.
  std::optional<Fact> fact = {};
};

// These types avoid most allocations: a batch may have thousands of items.
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
///  - A MemberUpdate's record is of its guard's node and session (checked).
///  - Sessions, terms and create revisions are above 0, except the session of ForceRelease::dead if
///    `quarantined` is set. This is checked, except for MoveBatch::balancer_term and the sessions
///    of Transfer::to, Claim::dead and ResignBatch::from.
///  - MemberTakeover::read and Transfer::move_read are above 0, and so is RipeMark::up_to or
///    RipeMark::read (checked).
GuardedWrite MakeGuardedWrite(const Keyspace& keyspace, const Write& write);

/// Returns the guards that the session's member key still has the session's lease and create
/// revision. REQUIRES (checked): both are above 0.
Guards SessionGuards(const Keyspace& keyspace, const SessionGuard& guard);

}  // namespace baton::etcd
