// RipeMarks: writes the mark `ripe/<node>` once a node has been away for the group's failover delay
// (FailoverPolicy::kAfter; OthersFrom in may_claim.h). After that, any node may claim the shards
// that were kept for that node.
//
// The first member that sees the delay end writes the mark, and all other nodes follow the mark. So
// all nodes divide the vacancies in the same way. Before a member writes, it waits 300 ms for each
// live member with a smaller id, so that usually only one writes. Each member writes or deletes one
// mark at a time.
//
// A mark states a term, and holds for the node's leaderships with terms up to this term. So the
// mark may stay when the node comes again and leads. A mark is written only with a term
// that is earlier than the terms of all shards that the node leads then. For a vacancy with a later
// term than the mark's, each node measures the delay by its own clock.
//
// A mark is needless once no record needs it. A record needs it if its term is not later than the
// mark's, and it names the node as the leader or as the node that resigned. A needless mark is
// never needed again. While records or marks change, each member looks for needless marks, at most
// every 10 s, and deletes one of them.
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
  /// Does nothing while the view is not complete, the session is not live, or this object's last
  /// write has no definite outcome. A member that drains or stops writes and deletes marks, too.
  /// Under kAfter, each change of members, policies, config or vacancies costs O(shards).
  void Advance(Context& context);
  /// This object's write has a definite outcome. The next mark is written at least kMaxRetryPause
  /// later.
  void On(TimePoint now);
  /// The session is lost: forgets the write in flight, which was dropped.
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
  /// The next time when the delay of a vacant shard ends. Then the shards are looked at again.
  TimePoint look_at_ = TimePoint::max();
};

}  // namespace baton::core
