// HeldShard: what this node knows of a shard that it holds. A node holds a shard if the shard's
// record names the node's session. A plain value, owned by Leaderships.
#pragma once

#include <map>
#include <optional>
#include <variant>

#include "core/events.h"

namespace baton::core {

struct HeldShard {
  /// The callback `releasing` runs, before a transfer or a resignation. The node still leads.
  struct Releasing {
    OperationId callback = 0;
    TimePoint deadline{};
    TimePoint since{};
  };
  /// The shard waits to be sent with a transfer or a resignation. The application has released it,
  /// had nothing to release, or failed to release it in time. The node still leads.
  struct Released {};
  /// A transfer is in flight. The node does not lead.
  struct Giving {
    OperationId write = 0;
    TimePoint since{};
  };
  /// A resignation is in flight. The node does not lead.
  struct Resigning {
    OperationId write = 0;
  };
  /// A transfer of unknown outcome was given up, and an abandon is in flight. The node does not
  /// lead.
  struct Abandoning {
    OperationId write = 0;
    OperationId transfer = 0;  ///< the transfer that was given up
  };
  struct Leading {};
  using Phase = std::variant<Leading, Releasing, Released, Giving, Resigning, Abandoning>;

  Term term;
  Phase phase = Leading{};
  bool activated = false;
  OperationId activation = 0;  ///< the `acquired` that runs; 0: none, or it resigns
  TimePoint activation_deadline = TimePoint::max();  ///< max: none runs, or its time is over
  TimePoint gained_at{};
  /// Set after a transfer was refused or given up: the view may be behind etcd.
  TimePoint give_not_before{};
  TimePoint resign_not_before{};  ///< set after a refused resignation
  /// The application was asked to release the shard, so that it can be resigned.
  bool asked_to_resign = false;
  /// The application has released the shard in this handoff, or had nothing to release. A
  /// resignation's record says so.
  bool released = false;
  /// The transition that gained the shard, until it is reported: when `acquired` has returned or
  /// timed out, or the shard is lost.
  std::optional<Transition> unreported;

  /// Whether the phase lets the node lead. The session's deadline is checked elsewhere
  /// (Session::live).
  bool MayLead() const {
    return std::holds_alternative<Leading>(phase) || std::holds_alternative<Releasing>(phase) ||
           std::holds_alternative<Released>(phase);
  }
  /// The transfer whose outcome decides about the shard; 0: no transfer is unsettled.
  OperationId Transfer() const {
    if (const auto* giving = std::get_if<Giving>(&phase)) return giving->write;
    const auto* abandoning = std::get_if<Abandoning>(&phase);
    return abandoning != nullptr ? abandoning->transfer : OperationId{};
  }
};
using HeldShards = std::map<ShardId, HeldShard>;

}  // namespace baton::core
