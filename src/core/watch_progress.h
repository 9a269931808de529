// WatchProgress: answers whether a watch of the group is current.
//
// A watch may lag without bound, or stand still below a stuck member of etcd. What it says of
// itself is no proof. So its owner commits something, or reads linearizably, and requires that the
// watch reaches the revision of that answer:
//   - A watch that has reached the required revision has delivered every change up to it.
//   - If it has not done so within kWatchStandsStill, it counts as standing still, and the owner
//     opens it on another endpoint. It then has the same time again.
//
// A watch may also miss a deletion around a compaction, which no revision shows. So the owner reads
// the whole view again from time to time (an audit).
//
// Pure and single-threaded: owned by a core, or by a relay. `now` never goes back.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "baton/types.h"

namespace baton::core {

class WatchProgress {
 public:
  /// The watch, or a read of everything, has delivered every change up to `revision`.
  void Reach(Revision revision);
  /// The store has `revision`, so the watch must reach it. Returns whether the watch is behind it:
  /// then the owner asks the watch for its progress. If the watch is behind an earlier requirement
  /// already, it must reach the greater revision in the time that began with the earlier one.
  bool Require(Revision revision, TimePoint now);

  /// The revision that the watch is known to have reached.
  Revision reached() const { return reached_; }
  /// Whether the watch has still to reach a required revision.
  bool behind() const { return behind_since_ != TimePoint::max(); }

  /// If the watch stands still, returns the line for the log: the owner must open the watch on
  /// another endpoint.
  std::optional<std::string> StandsStill(TimePoint now);
  /// The time from which StandsStill will say so; TimePoint::max(): never, as things are.
  TimePoint StandsStillAt() const;

  /// Everything was read at `now`.
  void NoteRead(TimePoint now) { read_at_ = now; }
  /// Whether `every` has passed since the last read. If so, the owner must begin one; it counts as
  /// made, so that one which fails is not repeated at once.
  bool AuditDue(TimePoint now, Duration every);
  TimePoint AuditAt(Duration every) const { return read_at_ + every; }

 private:
  Revision reached_;
  Revision required_;
  TimePoint behind_since_ = TimePoint::max();  ///< max(): it is not behind
  TimePoint read_at_{};
};

}  // namespace baton::core
