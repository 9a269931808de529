// Keyspace: builds the group's keys in etcd, and turns a stored key into a fact.
//
// All keys of a group lie below one prefix, `<prefix>/<group>/`. So one range and one watch cover
// all of them. Values are the protobuf records of proto/baton/v1/records.proto (records.h).
//
// A plain value, immutable after construction: any thread. The functions that make keys don't check
// the names that they get.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/facts.h"
#include "baton/result.h"
#include "etcd/etcd.pb.h"

namespace baton::etcd {

inline constexpr std::string_view kDefaultPrefix = "/baton/v1";

/// The meaning of a stored key, or of its absence.
struct Decoded {
  /// Unset if the key holds no fact: quarantined bytes, the recovery's key, or a stray key.
  std::optional<Fact> fact;
  /// True: this version does not know the key. The key is not canonical, belongs to a later
  /// version, or does not lie below the group's prefix. Such keys are counted and never changed.
  bool stray = false;
};

class Keyspace {
 public:
  /// Returns OK if both arguments are valid. `prefix` has two characters or more, begins with '/'
  /// and does not end with '/'. `group` is a name (IsName). Otherwise returns kInvalidArgument; the
  /// message names the wrong argument.
  static Status Validate(std::string_view prefix, std::string_view group);

  /// REQUIRES (checked): Validate(prefix, group) is OK.
  Keyspace(std::string_view prefix, std::string_view group);

  /// `<prefix>/<group>/`: every key of the group begins with it.
  const std::string& begin() const { return begin_; }
  /// The exclusive end of the range of all the group's keys.
  const std::string& end() const { return end_; }

  std::string ConfigKey() const;
  std::string MemberKey(std::string_view node) const;
  /// All members' keys begin with this prefix.
  std::string MembersPrefix() const;
  std::string ShardKey(ShardId shard) const;
  std::string BalancerKey() const;
  /// The key of the shard's record; without a shard, of the balancer's record.
  std::string RecordKey(std::optional<ShardId> shard) const;
  std::string MoveKey(ShardId shard) const;
  std::string PolicyKey(const PolicyName& policy) const;
  /// The key `died`: see DeathFact in base/facts.h.
  std::string DeathKey() const;
  /// The key `ripe/<node>`: see RipeFact in base/facts.h.
  std::string RipeKey(std::string_view node) const;
  /// The key for the bytes of the shard's last damaged record. Each shard has one key, so repeated
  /// damage does not fill etcd. Without a shard: the key for the balancer's record.
  std::string QuarantineKey(std::optional<ShardId> shard) const;
  /// All keys for damaged records begin with this prefix.
  std::string QuarantinePrefix() const;
  /// A key that never exists. So deleting it is a commit without a new revision.
  std::string ConfirmationKey() const;
  /// A key that exists while a restored group is being recovered, and at no other time
  /// (runtime/recovery).
  std::string RecoveryKey() const;

  /// Returns the fact that a stored key holds. Never fails. If the value can't be read, the fact is
  /// present with defaults (records.h), and its `readability` says so (if this kind of fact has
  /// one).
  Decoded Decode(const etcdserverpb::KeyValue& stored) const;
  /// Returns the fact that the key is absent at `revision`, because the key was deleted or read as
  /// absent at that revision.
  Decoded DecodeAbsent(std::string_view key, Revision revision) const;

 private:
  std::string begin_;
  std::string end_;
};

}  // namespace baton::etcd
