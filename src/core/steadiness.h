// Steadiness: which members come and go again and again, and which are gone now.
//
// A member flaps if its last kFlapsAfter sessions were short (options.h says how short), also if
// they ended in order. When a member that flaps comes again, it is unsteady until it has stayed for
// a delay. Each further short session doubles the delay, up to kMaxUnsteadyDelay. A member flaps
// until one of its sessions is not short. Parts of the core that wait until the membership is quiet
// ignore members that flap: see Flaps and View::membership_changed_at. may_claim.h says whether
// unsteady members may begin to lead.
//
// Each node remembers what it saw itself, and a node that joined later knows less. So nodes may
// differ about which members are unsteady. Callers must make sure that this does no harm.
//
// Remembers 4,096 nodes. Beyond that it forgets those that have been gone for longest.
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
  /// A session of the node began at `now`. `now` is TimePoint::min() if the session began before
  /// this node could see it; such sessions don't count as short.
  void NoteBegan(const NodeId& node, TimePoint now);
  struct End {
    bool in_order = false;  ///< the node had said that it leaves
    Duration ttl{};         ///< the session's; the process may have died that long before the end
  };
  /// A session of the node ended at `now`. Returns whether this made DelayOf(node) longer. A
  /// session whose NoteBegan is missing does not count as short.
  bool NoteEnded(const NodeId& node, const End& end, TimePoint now);

  /// Until when a node that is here is unsteady; a past time: the node is steady. TimePoint::min():
  /// the node does not flap, or nothing is known of it. For a node that is away the result means
  /// nothing.
  TimePoint UnsteadyUntil(const NodeId& node) const;
  /// How long the node has to stay after its return to be steady again; 0: the node does not flap,
  /// or nothing is known of it.
  Duration DelayOf(const NodeId& node) const;
  /// Whether the node's last kFlapsAfter sessions that ended were short. A node that flaps may be
  /// steady by now.
  bool Flaps(const NodeId& node) const;
  /// The times after `since` at which nodes vanished, sorted, one for each node. Leaves out nodes
  /// that are back, nodes that had said that they leave, and nodes that flap.
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
