// RipeMarks: writes `ripe/<node>` once a node has been away for the delay of
// FailoverPolicy::kAfter.
//
// The first that finds it so writes it, and all others then know it, too. Otherwise nodes that know
// the group for less time would divide the vacancies differently. Live members write in the order
// of their ids, 300 ms apart, one mark at a time. Nobody takes a mark back: it says nothing of
// leaderships with later terms. Once no record names a leadership that a mark speaks of, none ever
// will again, and the mark is deleted: else each name of a node would leave a key for ever.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <optional>

#include "core/context.h"

namespace baton::core {

class RipeMarks {
 public:
  void Note(const View& view, const ViewChanges& changes);
  void Advance(Context& context);
  /// The write has a definite outcome.
  void On(TimePoint now);
  /// The write was dropped: the session is lost.
  void Clear() { in_flight_ = swept_ = false; }

 private:
  void Look(const Context& context);
  void WriteDue(Context& context);
  void Write(Context& context, NodeId owner);
  void Sweep(Context& context);

  bool outdated_ = true;
  bool swept_ = false;  ///< nothing has changed since the marks were looked through
  std::optional<TimePoint> sweep_at_;
  bool in_flight_ = false;
  TimePoint not_before_{};
  struct Due {
    TimePoint at = TimePoint::min();
    Revision newest;  ///< the newest term of the vacancies that are kept for the node
  };
  std::map<NodeId, Due> due_;
};

}  // namespace baton::core
