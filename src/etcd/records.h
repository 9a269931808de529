// Converts facts to protobuf records and back (proto/baton/v1/records.proto), without their keys.
//
// Encoding writes the fields that this version knows, then the fact's `unknown_fields`, if this
// kind of fact has them. So a later version's fields survive a rewrite. Decoding never fails. A
// value is kDamaged if it can't be parsed, is not valid, or contradicts its key. A value of a later
// schema is kNewerSchema. Nothing is taken from a value of these two kinds, with two exceptions:
// the `schema` of a ConfigFact, and a RecordFact's `damaged_value` (the value's first bytes).
//
// An unknown reason reads as kStartup; in a move, as kRebalance; in a member's `dead_reason`, as
// kProcessDied. An unknown state, phase, hash function or failover policy makes the value kDamaged.
// A missing failover policy reads as kImmediate. stored_text.h bounds the texts and unknown fields
// of decoded facts.
//
// A fact's revisions, version, lease and presence belong to the key, not to the value: the caller
// sets them. Pure functions; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/facts.h"

namespace baton::etcd {

/// The longest TTL that a member's record may state. Nodes ask for an hour at most. A record with
/// more than 24 hours is damaged, so that nobody waits for it.
inline constexpr std::chrono::hours kLongestTtl{24};

/// Writes the fact's schema, or kSchema if the fact's is 0. Writes failover settings only for
/// kFailoverSchema or later, and placement rules only for kPlacementSchema or later.
std::string EncodeConfig(const ConfigFact& config);
std::string EncodeMember(const MemberFact& member);
/// `shard`: the key's shard; unset: the balancer's record.
std::string EncodeRecord(const RecordFact& record, std::optional<ShardId> shard);
std::string EncodeMove(const MoveFact& move);
std::string EncodePolicy(const PolicyFact& policy);
std::string EncodeDeath(const DeathFact& death);
std::string EncodeRipe(const RipeFact& ripe);

ConfigFact DecodeConfig(std::string_view value);
/// `node`, `shard`, `name`: those of the key.
MemberFact DecodeMember(std::string_view value, const NodeId& node);
RecordFact DecodeRecord(std::string_view value, std::optional<ShardId> shard);
MoveFact DecodeMove(std::string_view value, ShardId shard);
/// A policy is in force while its key exists. If the value can't be read, the fact's other fields
/// keep their defaults.
PolicyFact DecodePolicy(std::string_view value, const PolicyName& name);
/// If the value can't be read, the fact has no node and session 0.
DeathFact DecodeDeath(std::string_view value);
/// If the value can't be read, or names another node, `up_to` is 0.
RipeFact DecodeRipe(std::string_view value, const NodeId& node);

}  // namespace baton::etcd
