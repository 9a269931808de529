// Absences: for how long each node has been away, as this node sees it. FailoverPolicy::kAfter
// (facts.h) needs these times.
//
// If a node is away longer than the group's failover delay, other nodes may claim the shards that
// it led. If the node comes back earlier, it may take them all back. A new absence begins only
// after a stay of a whole delay. After a shorter stay, the earlier absence goes on, except if it
// was forgotten before that stay. So a process that crashes again and again also loses its shards.
//
// Each node measures the absences of other nodes by its own clock. A stay counts from the earliest
// time at which it can have begun. A node that was never seen counts as away since NoteComplete. So
// nodes may differ about the end of a delay. Therefore the first node that sees the delay end
// writes `ripe/<node>`, and all nodes follow this mark (ripe_marks.h).
//
// Remembers 4,096 nodes that are away. If there are more, forgets those that have been away for
// longest. From then on, each unknown node counts as away since the latest forgotten absence began.
// So a delay may seem to end later than it does, but never earlier.
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
  /// At `now` this node saw that a session of `node` had ended. `delay`: the group's present
  /// failover delay. Forgets nodes that have been away for 25 h, longer than any allowed delay.
  void NoteEnded(const NodeId& node, Duration delay, TimePoint now);

  /// The time from which other nodes may claim the shards that `node` led and has not taken back.
  /// This is `delay` after one of these times:
  ///  - If `node` is away: when its absence began.
  ///  - If `node` is here: when this node saw its session begin.
  ///  - If `node` is unknown (never seen, or forgotten): when NoteComplete was called, or when the
  ///    latest absence began that was forgotten for lack of room. The later time counts. Before
  ///    NoteComplete, the result is TimePoint::max().
  TimePoint OverAt(const NodeId& node, Duration delay) const;
  /// Like OverAt, for a node that is here but can't take its shards back. This is `delay` after its
  /// last absence began, as if the node had not come. If no absence of `node` is known, the result
  /// is that of OverAt.
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
  /// When the latest of the absences began that were forgotten for lack of room.
  TimePoint forgotten_ = TimePoint::min();
  TimePoint known_since_ = TimePoint::max();
};

}  // namespace baton::core
