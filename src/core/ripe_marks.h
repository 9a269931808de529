// RipeMarks: writes `ripe/<node>` once a node has been away for the group's failover delay
// (FailoverPolicy::kAfter). After that, any node may claim the shards that were kept for the node.
//
// The first node that sees the delay end writes the mark, and all other nodes follow it. Otherwise
// nodes that have known the group for less time would divide the vacancies differently. Before a
// member writes, it waits 300 ms for each live member with a smaller id, so that usually only one
// writes. Each member writes one mark at a time. A mark holds only for leaderships up to the term
// that it states, so nobody has to take it back. What the node leads meanwhile has later terms,
// because otherwise no mark is written.
//
// Once no record names such a leadership, no record ever will again. The mark is deleted 10 s later
// or more. So nodes that never come back leave no keys behind.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <optional>

#include "core/context.h"

namespace baton::core {

class RipeMarks {
 public:
  /// Records what changed in the view. REQUIRES: every change is passed before the next Advance.
  void Note(const View& view, const ViewChanges& changes);
  /// Writes a mark that is due, if the policy is kAfter. Under any policy, deletes needless marks.
  void Advance(Context& context);
  /// This object's write has a definite outcome. The next one comes kMaxRetryPause later or more.
  void On(TimePoint now);
  /// The session is lost, so the write was dropped.
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
    Revision newest;  ///< the newest term of the shards that are kept for the node
  };
  std::map<NodeId, Due> due_;
  /// When the next of these shards becomes ripe. By then the owner may have taken the others back.
  TimePoint look_at_ = TimePoint::max();
};

}  // namespace baton::core
