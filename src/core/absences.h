// Absences: for how long each node has been away, as this node sees it. FailoverPolicy::kAfter
// needs these times.
//
// A node that is away longer than the group's failover delay loses its claim on the shards that it
// led. If it comes back earlier, it may take them all back. A new absence begins only after a stay
// of a whole delay. After a shorter stay, the first absence goes on, unless it was forgotten before
// the stay (see below). So a process that crashes again and again loses its shards as well.
//
// Each node measures the absences of others by its own clock. A stay counts from the earliest time
// at which it can have begun, so that late news does not make a long stay look short. A node that
// was never seen counts as away from the time of NoteComplete. So nodes may differ about the end of
// a delay. Therefore the first node that sees the delay end writes `ripe/<node>`, and all nodes
// follow this mark (ripe_marks.h).
//
// Remembers 4,096 nodes that are away. Beyond that it forgets those that have been away for
// longest. After that, each node that it does not know counts as away from the time at which the
// latest forgotten absence began. So a delay may seem to end later than it does, but never earlier.
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
  /// From `now` on, the view knows every member. REQUIRES (not checked): called once.
  void NoteComplete(TimePoint now) { known_since_ = now; }
  /// At `now` this node saw that a session of `node` had begun, at `earliest` or later. If
  /// `earliest` is TimePoint::min(), nobody knows when the session began, and the stay counts as
  /// longer than any delay. REQUIRES (not checked): for each node, calls of NoteBegan and NoteEnded
  /// alternate, and NoteBegan comes first.
  void NoteBegan(const NodeId& node, TimePoint earliest, TimePoint now);
  /// At `now` this node saw that a session of `node` had ended. `delay`: the group's failover delay
  /// now. Forgets nodes that have been away for 25 h, which is longer than any delay that can be
  /// set.
  void NoteEnded(const NodeId& node, Duration delay, TimePoint now);

  /// The time from which other nodes may claim the shards that `node` led and has not taken back.
  /// It is `delay` after one of these times:
  ///  - If `node` is away: when its absence began.
  ///  - If `node` is here: when this node saw it come.
  ///  - If `node` was never seen, or was forgotten: when NoteComplete was called. If absences were
  ///    forgotten for lack of room, and the latest of them began after that call: when it began.
  ///    Before NoteComplete the result is TimePoint::max().
  TimePoint OverAt(const NodeId& node, Duration delay) const;
  /// The same for a node that is here, but can't take its shards back: `delay` after its last
  /// absence began, as if it had not come. If no absence of `node` is known: the same as OverAt.
  TimePoint OverInVain(const NodeId& node, Duration delay) const;

 private:
  void Forget(TimePoint now);
  struct Seen {
    bool here = false;
    TimePoint began_earliest = TimePoint::min();
    TimePoint here_since{};                   ///< when this node saw the session begin
    TimePoint away_since = TimePoint::max();  ///< max: no absence of the node is known
  };
  std::map<NodeId, Seen> seen_;
  std::set<std::pair<TimePoint, NodeId>> away_;  ///< the nodes that are away, by time
  /// Of the absences that were forgotten for lack of room, the latest began at this time.
  TimePoint forgotten_ = TimePoint::min();
  TimePoint known_since_ = TimePoint::max();
};

}  // namespace baton::core
