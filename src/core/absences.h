// Absences: for how long each node has been away, for FailoverPolicy::kAfter.
//
// A node that is away longer than the group's delay loses its claim on the shards that it led. If
// it comes back earlier, it takes them all back, and the time starts again only if it then stays
// for the whole delay. So a process that crashes again and again loses its shards, too.
//
// Each node measures by its own clock what it sees, and late news must not make a long stay look
// short: then the time would not start again when it should. A node that it has never seen counts
// as away since it knows the group. So the first one that knows writes `ripe/<node>`, and all agree
// (ripe_marks.h).
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <map>

#include "base/clock.h"
#include "base/facts.h"

namespace baton::core {

class Absences {
 public:
  /// From now on every member is known.
  void NoteComplete(TimePoint now) { known_since_ = now; }
  /// A session of the node began, `earliest` at the earliest.
  void NoteBegan(const NodeId& node, TimePoint earliest, TimePoint now);
  /// A session of the node ended. `delay`: the group's delay now.
  void NoteEnded(const NodeId& node, Duration delay, TimePoint now);

  /// When the node will have been away for `delay`. If it is here: when it will have been here for
  /// `delay`. What it has not taken back by then, it does not want.
  TimePoint OverAt(const NodeId& node, Duration delay) const;

 private:
  struct Seen {
    bool here = false;
    TimePoint began_earliest = TimePoint::min();
    TimePoint here_since{};                   ///< when this node learnt of it
    TimePoint away_since = TimePoint::max();  ///< max: not since this node knows it
  };
  std::map<NodeId, Seen> seen_;
  TimePoint known_since_ = TimePoint::max();
};

}  // namespace baton::core
