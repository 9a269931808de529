// The group's keys in etcd: how they are built, and what a stored key says as a fact.
//
// Everything of a group lies below one prefix, `<prefix>/<group>/`, so that one range and one watch
// show all of it. Values are the protobuf records of proto/baton/v1/records.proto (records.h).
//
// Plain value, immutable after construction: safe to use from several threads at once.
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

/// What a stored key, or its absence, says.
struct Decoded {
  /// Unset where the key holds no fact: quarantined bytes, or a stray.
  std::optional<Fact> fact;
  /// A key below our prefix that is none of ours (not canonical, or of a later version). It is left
  /// alone and counted.
  bool stray = false;
};

class Keyspace {
 public:
  /// Whether `prefix` (begins with '/', does not end with one) and `group` (a name like a NodeId)
  /// can be used. The error names the option.
  static Status Validate(std::string_view prefix, std::string_view group);

  /// REQUIRES: Validate(prefix, group).
  Keyspace(std::string_view prefix, std::string_view group);

  /// `<prefix>/<group>/`: every key of the group begins with it.
  const std::string& begin() const { return begin_; }
  /// The exclusive end of the range of all the group's keys.
  const std::string& end() const { return end_; }

  std::string ConfigKey() const;
  std::string MemberKey(std::string_view node) const;
  std::string ShardKey(ShardId shard) const;
  std::string BalancerKey() const;
  /// The shard's record, or the balancer's where there is no shard.
  std::string RecordKey(std::optional<ShardId> shard) const;
  std::string MoveKey(ShardId shard) const;
  /// `name` as in PolicyFact.
  std::string PolicyKey(std::string_view name) const;
  /// Where the bytes of a damaged record go; `revision` is the damaged record's.
  std::string QuarantineKey(std::optional<ShardId> shard, Revision revision) const;
  /// A key that never exists: deleting it is a commit without a new revision.
  std::string ConfirmationKey() const;
  /// A key that is there only while a restored group's revisions are raised (runtime/recovery).
  std::string RecoveryKey() const;

  /// What a stored key says. Never fails: what can't be read says so in its fact's `readability`.
  Decoded Decode(const etcdserverpb::KeyValue& stored) const;
  /// What the key's absence at `revision` (of its deletion, or of the read) says.
  Decoded DecodeAbsent(std::string_view key, Revision revision) const;

 private:
  std::string begin_;
  std::string end_;
};

}  // namespace baton::etcd
