// HeldShard: what this node knows of a shard that it leads, from gaining to giving away.
#pragma once

#include <map>
#include <optional>
#include <variant>

#include "core/events.h"

namespace baton::core {

struct HeldShard {
  /// The callback `releasing` runs, as a part of a handoff. Still leads.
  struct Releasing {
    OperationId callback = 0;
    TimePoint deadline{};
    TimePoint since{};
  };
  /// The shard waits for its place in a transfer, or for its resignation. Still leads.
  struct Released {};
  /// A transfer is in flight. Does not lead.
  struct Giving {
    OperationId write = 0;
    TimePoint since{};
  };
  /// A resignation is in flight. Does not lead.
  struct Resigning {
    OperationId write = 0;
  };
  /// A transfer of unknown outcome was given up, and an abandon is in flight. Does not lead.
  struct Abandoning {
    OperationId write = 0;
    OperationId transfer = 0;  ///< the transfer that was given up
  };
  struct Leading {};
  using Phase = std::variant<Leading, Releasing, Released, Giving, Resigning, Abandoning>;

  Term term;
  Phase phase = Leading{};
  bool activated = false;
  OperationId activation = 0;  ///< the `acquired` callback that runs; 0: none
  TimePoint activation_deadline = TimePoint::max();
  TimePoint gained_at{};
  TimePoint give_not_before{};    ///< after a refused transfer: the view may be behind etcd
  TimePoint resign_not_before{};  ///< after a refused resignation
  /// the application was asked to release it, so that it can be resigned
  bool asked_to_resign = false;
  /// the application has released it in this handoff; the record of its resignation says so
  bool released = false;
  /// the transition that gained it, until `acquired` returned and its duration is known
  std::optional<Transition> unreported;

  bool MayLead() const {
    return std::holds_alternative<Leading>(phase) || std::holds_alternative<Releasing>(phase) ||
           std::holds_alternative<Released>(phase);
  }
  /// The transfer whose outcome decides about the shard; 0: none.
  OperationId Transfer() const {
    if (const auto* giving = std::get_if<Giving>(&phase)) return giving->write;
    const auto* abandoning = std::get_if<Abandoning>(&phase);
    return abandoning != nullptr ? abandoning->transfer : OperationId{};
  }
};
using HeldShards = std::map<ShardId, HeldShard>;

}  // namespace baton::core
