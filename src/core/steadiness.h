// Steadiness: which members come and go again and again, and which are gone now.
//
// A member whose sessions ended soon after they began, several times in a row, is unsteady. When it
// comes again it has to stay for a delay, which doubles with each short session, before it is
// steady again. Unsteady members are not counted by those who wait for a quiet membership. Whether
// they may begin to lead is said in may_claim.h.
//
// Each node remembers what it saw itself. A node that joined later knows less. So nodes may differ
// about who is unsteady; that must do no harm.
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"

namespace baton::core {

class Steadiness {
 public:
  /// A session of the node began. TimePoint::min(): before this node could see it.
  void NoteBegan(const NodeId& node, TimePoint now);
  struct End {
    bool in_order = false;  ///< the node had said that it leaves
    Duration ttl{};         ///< of the session; the process may have died that long before
  };
  /// A session of the node ended. Returns whether the node meets a longer delay when it comes again
  /// than it met before.
  bool NoteEnded(const NodeId& node, const End& end, TimePoint now);

  /// Until when a node that is here is unsteady; TimePoint::min() if it is not.
  TimePoint UnsteadyUntil(const NodeId& node) const;
  /// How long the node has to stay, once it is back, to be steady again; 0 if it does not flap.
  Duration DelayOf(const NodeId& node) const;
  /// Whether the node's last sessions were so short that its comings and goings don't count.
  bool Flaps(const NodeId& node) const;
  /// When nodes vanished after `since`: those that are still gone, had not said that they leave,
  /// and don't flap. Sorted.
  std::vector<TimePoint> GoneSince(TimePoint since) const;

 private:
  struct Seen {
    TimePoint began = TimePoint::min();  ///< min: before this view knew the node
    TimePoint ended = TimePoint::max();  ///< max: it is here
    bool in_order = false;
    int short_sessions = 0;
  };
  /// Changes what is remembered of the node, and keeps gone_ true to it.
  template <typename Change>
  void Note(const NodeId& node, Change change) {
    Seen& seen = seen_[node];
    if (Counts(seen)) gone_.erase({seen.ended, node});
    change(seen);
    if (Counts(seen)) gone_.emplace(seen.ended, node);
    Bound();
  }
  /// Whether GoneSince counts the node.
  static bool Counts(const Seen& seen);
  static Duration DelayAfter(int short_sessions);
  int ShortSessions(const NodeId& node) const;
  void Bound();

  std::map<NodeId, Seen> seen_;
  std::set<std::pair<TimePoint, NodeId>> gone_;  ///< those that GoneSince counts, by time
};

}  // namespace baton::core
