// Requests of operators to a node or relay (see Control). Plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/node_change.h"
#include "base/server_identity.h"
#include "baton/types.h"

namespace baton::runtime {

struct TransferRequest {
  ShardId shard;
  NodeId to;
  std::optional<Term> if_term;  ///< another term: kFailedPrecondition; unset: any term
  bool dry_run = false;         ///< here and below: checks the request, and changes nothing
  std::string actor;            ///< here and below: who orders the change, for records and logs
  std::optional<Duration> within = {};  ///< see Control::Request
};
struct PolicyRequest {
  enum class Verb : std::uint8_t {
    kDrain,
    kUndrain,
    kPause,
    kResume,
    kApplyRebalance,
    kCancelRebalance,
    kSetExpectedNodes,
    kSetLimits
  };
  Verb verb = Verb::kPause;
  NodeId node;  ///< only for kDrain and kUndrain
  /// Only for kSetExpectedNodes: up to kMaxExpectedNodes (not checked); 0: clears the setting.
  std::uint32_t number = 0;
  /// Only for kSetLimits. REQUIRES (not checked): max_moves is 0 to kMaxMoves, where 0 clears the
  /// limit; a delay is 0 to kLongestDurationFlag. Nodes ignore a delay outside this range, as if it
  /// were cleared.
  LimitsChange limits = {};
  bool dry_run = false;
  std::string actor;
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Asks the leader of a failing shard to call its `acquired` again at once.
struct RetryRequest {
  ShardId shard;
  bool dry_run = false;
  std::string actor;
};

/// Changes how the group fails over, or its placement rules. An unset setting does not change. The
/// ranges are those of core::GroupChangeRequested.
struct GroupChangeRequest {
  std::optional<FailoverPolicy> failover = {};
  std::optional<std::chrono::milliseconds> delay = {};  ///< only with FailoverPolicy::kAfter
  std::optional<std::chrono::milliseconds> lock_delay = {};
  std::optional<Placement> placement = {};  ///< replaces all rules
  bool dry_run = false;
  std::string actor = {};
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Releases by force a shard whose last leader's session has ended. Then any node may claim the
/// shard.
struct ReleaseRequest {
  ShardId shard;
  bool dry_run = false;
  std::string actor = {};
  std::optional<Duration> within = {};  ///< see Control::Request
};

/// Changes weight and labels of the node that gets this request. `node` must name that node.
struct NodeChangeRequest {
  NodeId node;
  NodeChange change;
  bool dry_run = false;
  std::string actor = {};
};

/// Files that the security of a process depends on. Empty names are ignored.
struct SensitiveFiles {
  std::vector<std::string> secret = {};   ///< password, keys: only owner and group may read them
  std::vector<std::string> trusted = {};  ///< certificates, CAs: only the owner may write them
};

/// Facts that the node does not know. The caller of Control::Examine passes them.
struct ExamineRequest {
  /// The limit on the series of shards that this process exports; unset: not known.
  std::optional<std::size_t> max_shard_series = {};
  SensitiveFiles files = {};
  /// The certificate of this process's ports; null: they have none.
  std::shared_ptr<const ServerIdentity> tls = {};
  /// The addresses of this process's ports that other hosts may reach; unset: not known.
  std::optional<std::vector<std::string>> exposed = {};
};

}  // namespace baton::runtime
