// Absences: for how long each node has been away, as this node sees it. FailoverPolicy::kAfter
// needs these times.
//
// A node that is away longer than the group's failover delay loses its claim on the shards that it
// led. If it comes back earlier, it takes them all back. A new absence begins only after a stay of
// a whole delay; after a shorter stay, the first absence goes on. So a process that crashes again
// and again loses its shards, too.
//
// Each node measures the absences of others by its own clock. A stay counts from the earliest time
// at which it can have begun, so that late news does not make a long stay look short. A node that
// was never seen counts as away from the time of NoteComplete. So nodes may differ. Therefore the
// first node that sees the delay end writes `ripe/<node>`, and all nodes follow this mark
// (ripe_marks.h).
//
// Remembers 4,096 nodes that are away. Beyond that it forgets those that have been away for
// longest. A node that it does not know then counts as away since the last one of these went: its
// delay may be over later than it was, never earlier.
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/facts.h"

namespace baton::core {

class Absences {
 public:
  /// From `now` on, the view knows every member.
  void NoteComplete(TimePoint now) { known_since_ = now; }
  /// A session of the node began, at `earliest` or later. TimePoint::min(): nobody knows when
  /// it began, and the stay counts as long.
  void NoteBegan(const NodeId& node, TimePoint earliest, TimePoint now);
  /// A session of the node ended. `delay`: the group's failover delay now. Forgets nodes that have
  /// been away for 25 h, which is longer than any delay that can be set.
  void NoteEnded(const NodeId& node, Duration delay, TimePoint now);

  /// The time from which other nodes may claim the shards that `node` led and has not taken back.
  /// If `node` is away: `delay` after its absence began. If it is here: `delay` after this node saw
  /// it come. If it was never seen, or forgotten: `delay` after NoteComplete, or after the absence
  /// began that was forgotten last for want of room; TimePoint::max() if the view is not complete.
  TimePoint OverAt(const NodeId& node, Duration delay) const;
  /// The same if `node` can't take its shards back although it is here: `delay` after its last
  /// absence began, as if it had not come. If this node saw no absence of it: OverAt.
  TimePoint OverInVain(const NodeId& node, Duration delay) const;

 private:
  void Forget(TimePoint now);
  struct Seen {
    bool here = false;
    TimePoint began_earliest = TimePoint::min();
    TimePoint here_since{};                   ///< when this node saw the session begin
    TimePoint away_since = TimePoint::max();  ///< max: this node has seen no absence
  };
  std::map<NodeId, Seen> seen_;
  std::set<std::pair<TimePoint, NodeId>> away_;  ///< the nodes that are away, by time
  TimePoint forgotten_ = TimePoint::min();       ///< the last absence that had no room began here
  TimePoint known_since_ = TimePoint::max();
};

}  // namespace baton::core
