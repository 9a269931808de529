// Converts facts to protobuf records and back (proto/baton/v1/records.proto), without their keys.
//
// Encoding writes the record's known fields, then the fact's `unknown_fields` (if facts of this
// kind have them), so that a later version's fields survive a rewrite. Decoding never fails. A
// value that can't be parsed, is not valid, or contradicts its key is kDamaged; a value of a later
// schema is kNewerSchema. Such a value's content is not used, with two exceptions: a ConfigFact has
// its `schema`, and a RecordFact has its first bytes in `damaged_value`. An unknown reason reads as
// kStartup; in a move, as kRebalance; in a member's `dead_reason`, as kProcessDied. An unknown
// state, phase, hash function or failover policy makes the value kDamaged. Texts and unknown fields
// of decoded facts are bounded as stored_text.h says.
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

/// The longest TTL that a member's record may state. Nodes ask for an hour at most, so a record
/// with more than these 24 hours is damaged, and nobody waits for it.
inline constexpr std::chrono::hours kLongestTtl{24};

/// Writes the fact's schema, or kSchema if the fact's is 0. Only a config of kFailoverSchema or
/// later has the failover settings, and only a config of kPlacementSchema or later has the rules of
/// placement.
std::string EncodeConfig(const ConfigFact& config);
std::string EncodeMember(const MemberFact& member);
/// `shard`: the key's shard; unset for the balancer's record.
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
/// A policy's key alone makes it effective. If the value can't be read, the fact's other fields
/// keep their defaults.
PolicyFact DecodePolicy(std::string_view value, const PolicyName& name);
/// If the value can't be read, the fact has no node, and session 0.
DeathFact DecodeDeath(std::string_view value);
/// If the value can't be read, or names another node, `up_to` is 0.
RipeFact DecodeRipe(std::string_view value, const NodeId& node);

}  // namespace baton::etcd
