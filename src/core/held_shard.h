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
    TimePoint deadline{};  ///< from this time on, `releasing` counts as timed out
    TimePoint since{};
  };
  /// The shard waits for its transfer or resignation to be sent. The application has released the
  /// shard or had nothing to release, or `releasing` failed or timed out. The node still leads.
  struct Released {};
  /// A transfer is in flight. The node does not lead.
  struct Giving {
    OperationId write = 0;
    TimePoint since{};  ///< when the transfer was sent, or when an abandon of it was refused later
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
  bool activated = false;  ///< the last `acquired` of this term succeeded, or there is no listener
  /// The `acquired` that runs. 0: no `acquired` runs; or it ran within its timeout when the node
  /// resigned the shard, so the node does not wait for it any more.
  OperationId activation = 0;
  /// Max: `activation` is 0, or it has exceeded its timeout.
  TimePoint activation_deadline = TimePoint::max();
  TimePoint gained_at{};
  /// No handoff begins before this time. Set after a transfer or resignation was refused, or a
  /// transfer was given up, because the view may be behind etcd.
  TimePoint give_not_before{};
  /// The shard is not resigned by ResignAll before this time. Set after a refused resignation.
  TimePoint resign_not_before{};
  /// The application has to release the shard for a resignation, or was already releasing it when
  /// the resignation was wanted.
  bool asked_to_resign = false;
  /// The application has released the shard in this handoff, or had nothing to release. A
  /// resignation's record says so.
  bool released = false;
  /// An external application's last `acquired` failed while the shard was being given away. The
  /// failure may not be the application's own answer, so it may act on the shard until it answers
  /// a later `acquired`.
  bool may_act = false;
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
