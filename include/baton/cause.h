// Cause: why a shard went to the node that leads it.
//
// The reason (Reason in types.h) says why a shard changed its leader, for example "lease_expired".
// The cause says why this node got the shard, for example "ready standby in zone b", or why the
// shard was moved, for example "rule 2 prefers zone=a". The node that claims a shard, or plans a
// move, writes the cause into etcd. So every observer sees the same cause, also after a restart.
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
  kHasRoom,        ///< it led fewer shards than its share
  kLedBefore,      ///< it led the shard before its session ended, and has a new session
  kReadyStandby,   ///< it was the shard's first ready standby
  kPassedOver,     ///< another node should have claimed the shard, and did not
  kTakenBack,      ///< the group's failover settings keep the shard for it
  kRuleRequires,   ///< it has the labels that a placement rule requires
  kRulePrefers,    ///< a placement rule prefers it. Also the cause of a planned move
  kDamagedRecord,  ///< the shard's record could not be read, and was replaced
  // Why a shard was moved.
  kBalance,           ///< to spread the shards by the nodes' weights
  kDrain,             ///< its leader drained, stopped, or was not healthy
  kRuleForbids,       ///< a placement rule does not let its leader lead it
  kActivationFailed,  ///< its leader could not activate it
  kOperator,          ///< an operator asked for the move
};
inline constexpr int kCauseCount = 14;
/// The kind's word in JSON, for example "ready_standby". Never null.
BATON_EXPORT const char* ToString(CauseKind kind);

/// The longest Cause::detail, in bytes.
inline constexpr std::size_t kLongestCauseDetail = 256;

struct Cause {
  CauseKind kind = CauseKind::kUnknown;
  /// The number of the placement rule that decided, from 1. For kReadyStandby this is the rule that
  /// asks for standbys. 0: no rule decided.
  std::uint32_t rule = 0;
  /// Visible ASCII, at most kLongestCauseDetail bytes. Its meaning depends on `kind`:
  ///  - kRuleRequires, kRulePrefers: the labels of the new leader that the rule asks for, for
  ///    example "zone=a,disk=ssd". If the text would be too long, the first label that does not fit
  ///    is left out, and so are all labels after it.
  ///  - kReadyStandby: the label by which the rule spreads standbys, with the new leader's value,
  ///    for example "rack=7". If the rule names no such label, or the new leader lacks it: the new
  ///    leader's zone, for example "zone=b". Empty if the new leader has no zone, either.
  ///  - kPassedOver: the node that did not claim the shard.
  ///  - kDrain, kRuleForbids, kActivationFailed: the node from which the shard moves.
  ///  - All others: empty.
  std::string detail{};
  friend bool operator==(const Cause&, const Cause&) = default;
};

/// The cause in plain words, for example "ready standby in zone b". Empty for kUnknown.
BATON_EXPORT std::string CauseWords(const Cause& cause);

}  // namespace baton
