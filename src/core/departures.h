// Departures: which members left the group lately, when and why, as this node saw it.
//
// etcd keeps nothing of a member whose key is gone. So a node knows only of members that left while
// it followed the group, and it forgets them when its process ends.
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"

namespace baton::core {

/// The end of a member's last session.
struct Departure {
  NodeId node{};
  SessionId session{};
  TimePoint seen_at{};
  /// kShutdown: the node had given away everything, and left. kProcessDied: its process was proven
  /// dead. kLeaseExpired: its lease ran out or was revoked, or somebody deleted the key; also if
  /// the node left before it had given away everything. Unset: not known, because a read showed the
  /// end, or the watch missed a part of it.
  std::optional<Reason> why{};
  std::uint32_t led = 0;  ///< how many shards' records named the session at the end
  bool back = false;      ///< the node has a session again
};

class Departures {
 public:
  /// How long Lately returns a departure: an hour.
  static constexpr Duration kToldFor = std::chrono::hours(1);
  /// How many departures are kept: the newest ones, and at most one for each node.
  static constexpr std::size_t kMaxKept = 1'024;

  /// Replaces an earlier departure of the same node. Beyond kMaxKept, forgets the one that was seen
  /// first.
  void Add(Departure departure);
  /// The node has a session again. Does nothing if no departure of the node is known.
  void NoteBack(const NodeId& node);
  /// The departures seen less than kToldFor before `now`, the newest first; of each node only the
  /// last one.
  std::vector<Departure> Lately(TimePoint now) const;

 private:
  std::map<NodeId, Departure> by_node_;
};

}  // namespace baton::core
