// Departures: which members left the group lately, when and why, as this node saw.
//
// A node knows only of members that left while the node followed the group. It forgets them when
// its process ends.
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
  /// Set to one of three reasons:
  ///  - kProcessDied: the node's process was proven dead.
  ///  - kShutdown: the node had said that it leaves, and had given away all its shards.
  ///  - kLeaseExpired: the watch showed another end. The lease ran out or was revoked, or somebody
  ///    deleted the member key.
  ///
  /// Unset: the reason is not known, because a read showed the end, or the watch missed a part of
  /// it.
  std::optional<Reason> why{};
  std::uint32_t led = 0;  ///< how many shards' records named the session at the end
  bool back = false;      ///< the node has a session again
};

class Departures {
 public:
  /// For this time after a departure was seen, Lately returns it.
  static constexpr Duration kToldFor = std::chrono::hours(1);
  /// How many departures are kept: the newest ones, and at most one for each node.
  static constexpr std::size_t kMaxKept = 1'024;

  /// Replaces an earlier departure of the same node. Beyond kMaxKept, forgets the departure that
  /// was seen first.
  void Add(Departure departure);
  /// The node has a session again. Does nothing if no departure of the node is known.
  void NoteBack(const NodeId& node);
  /// The departures that were seen less than kToldFor before `now`, the newest first; only the last
  /// one of each node.
  std::vector<Departure> Lately(TimePoint now) const;

 private:
  std::map<NodeId, Departure> by_node_;
};

}  // namespace baton::core
