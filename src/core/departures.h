// Departures: which members left the group lately, when and why, as this node saw it.
//
// etcd keeps nothing of a member whose key is gone. So a node knows only of those that left while
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

/// The end of a member's session: the last one of its node.
struct Departure {
  NodeId node{};
  SessionId session{};
  TimePoint seen_at{};
  /// kShutdown: it had given everything away and left. kLeaseExpired: its lease ended otherwise (it
  /// ran out, or somebody revoked it or deleted the key). kProcessDied: its process was proven
  /// dead. Unset: this node missed how, because a later read showed it.
  std::optional<Reason> why{};
  std::uint32_t led = 0;  ///< shards that it led until then
  bool back = false;      ///< the node has a session again
};

class Departures {
 public:
  /// How long Lately returns a departure.
  static constexpr Duration kToldFor = std::chrono::hours(1);
  /// At most this many departures are kept, the newest ones, and one for each node.
  static constexpr std::size_t kMaxKept = 256;

  void Add(Departure departure);
  /// The node has a session.
  void NoteBack(const NodeId& node);
  /// The departures of the last hour, the newest first.
  std::vector<Departure> Lately(TimePoint now) const;

 private:
  std::map<NodeId, Departure> by_node_;
};

}  // namespace baton::core
