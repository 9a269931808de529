// Cause: why a shard went to the node that leads it.
//
// A reason (Reason in types.h) says why a shard changed its leader, for example "lease_expired". A
// cause says why the new leader got the shard, for example "ready standby in zone b". If the shard
// was moved, the cause says why: for example "rule 2 prefers zone=a". The cause is stored in etcd
// with the shard's record. So all nodes show the same cause, and a restarted node shows it again.
//
// Plain values, safe to read from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "baton/export.h"

namespace baton {

enum class CauseKind : std::uint8_t {
  kUnknown,  ///< not known: an older version wrote no cause, or a newer one wrote a new kind
  // Why a node claimed a shard that had no leader.
  kHasRoom,        ///< the node led fewer shards than its share
  kLedBefore,      ///< the node led the shard in an earlier session
  kReadyStandby,   ///< the node was the shard's first ready standby
  kPassedOver,     ///< another node should have claimed the shard, and did not
  kTakenBack,      ///< the group's failover settings keep the shard for the node
  kRuleRequires,   ///< a placement rule requires labels that the node has
  kRulePrefers,    ///< a placement rule prefers the node; also a cause of planned moves
  kDamagedRecord,  ///< the shard's record could not be read, so the node replaced the record
  // Why a shard was moved.
  kBalance,           ///< to spread the shards by the nodes' weights
  kDrain,             ///< the shard's leader drained, stopped, or was not healthy
  kRuleForbids,       ///< a placement rule does not let the shard's leader lead the shard
  kActivationFailed,  ///< the shard's leader could not activate the shard (Listener::Acquired)
  kOperator,          ///< an operator asked for the move
};
inline constexpr int kCauseCount = 14;
/// The kind's word in JSON, for example "ready_standby". Never null.
BATON_EXPORT const char* ToString(CauseKind kind);

/// The most bytes of Cause::detail.
inline constexpr std::size_t kLongestCauseDetail = 256;

struct Cause {
  CauseKind kind = CauseKind::kUnknown;
  /// The number of the placement rule that decided, counted from 1. For kReadyStandby: the number
  /// of the rule that asks for standbys. 0: no rule decided.
  std::uint32_t rule = 0;
  /// Visible ASCII, at most kLongestCauseDetail bytes. Its meaning depends on `kind`:
  ///  - kRuleRequires, kRulePrefers: the labels that the rule asks for, with the new leader's
  ///    values, for example "zone=a,disk=ssd". A text that would be too long ends before the first
  ///    label that does not fit.
  ///  - kReadyStandby: the label by which the rule spreads standbys, with the new leader's value,
  ///    for example "rack=7". If the rule or the new leader lacks such a label: the new leader's
  ///    zone, for example "zone=b". If the new leader has no zone: empty.
  ///  - kPassedOver: the node that did not claim the shard.
  ///  - kDrain, kRuleForbids, kActivationFailed: the node that led the shard before the move.
  ///  - All other kinds: empty.
  std::string detail{};
  friend bool operator==(const Cause&, const Cause&) = default;
};

/// The cause in plain words, for example "ready standby in zone b". Empty for kUnknown.
BATON_EXPORT std::string CauseWords(const Cause& cause);

}  // namespace baton
