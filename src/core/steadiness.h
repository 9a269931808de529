// Steadiness: which members come and go again and again, and which are gone now.
//
// A member flaps if its last kFlapsAfter sessions were short, even if they ended in order.
// options.h says which sessions are short. A member flaps until one of its sessions is not short.
// After each return, a member that flaps is unsteady for a delay. Each further short session
// doubles the delay, up to kMaxUnsteadyDelay. may_claim.h says whether unsteady members may begin
// to lead. Parts of the core that wait for a quiet membership ignore members that flap
// (View::membership_changed_at).
//
// Each node remembers only the sessions that it saw. So nodes may differ about which members are
// unsteady, and callers must make sure that this does no harm.
//
// Remembers 4,096 nodes. Beyond that, forgets the nodes that have been gone for longest.
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
  /// A session of the node began at `now`. TimePoint::min(): the session began before this node
  /// could see it, and will not count as short.
  void NoteBegan(const NodeId& node, TimePoint now);
  struct End {
    bool in_order = false;  ///< the node had said that it leaves
    Duration ttl{};  ///< the session's TTL; the process may have died that long before the end
  };
  /// A session of the node ended at `now`. Returns whether DelayOf(node) grew. A session whose
  /// NoteBegan is missing does not count as short.
  bool NoteEnded(const NodeId& node, const End& end, TimePoint now);

  /// Until when the node is unsteady; a past time: the node is steady. TimePoint::min(): the node
  /// does not flap, or nothing is known of it. While the node is away, the result means nothing.
  TimePoint UnsteadyUntil(const NodeId& node) const;
  /// How long the node must stay after a return to be steady; 0: the node does not flap, or nothing
  /// is known of it.
  Duration DelayOf(const NodeId& node) const;
  /// Whether the last kFlapsAfter sessions of the node that have ended were short. A node that
  /// flaps may be steady by now.
  bool Flaps(const NodeId& node) const;
  /// The times after `since` at which nodes vanished, sorted, one for each node. Leaves out nodes
  /// that are back, nodes that flap, and nodes that had said that they leave.
  std::vector<TimePoint> GoneSince(TimePoint since) const;

 private:
  struct Seen {
    TimePoint began = TimePoint::min();  ///< min: before this view knew the node
    TimePoint ended = TimePoint::max();  ///< max: the node is here
    bool in_order = false;
    int short_sessions = 0;
  };
  /// Changes what is remembered of the node, and updates gone_.
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
  std::set<std::pair<TimePoint, NodeId>> gone_;  ///< the nodes that GoneSince counts, by time
};

}  // namespace baton::core
