// WatchProgress: answers whether a watch of the group is current.
//
// A watch may lag without bound, or stand still below a stuck member of etcd. What it says of
// itself is no proof. So its owner commits something, or reads linearizably, and requires that the
// watch reaches the revision of that answer:
//   - A watch that has reached the required revision has delivered every change up to it.
//   - A watch that is behind and advances is left alone, however late it is: another endpoint would
//     have to send the same changes again.
//   - A watch that is behind and delivers nothing new for kWatchStandsStill counts as standing
//     still, and the owner opens it on another endpoint. That one has the same time, but after
//     kEndpointsAtOnce in a row the time doubles with each.
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
  /// The watch, or a read of everything, has delivered every change up to `revision`. What a
  /// header says of the store is no delivery.
  void Reach(Revision revision, TimePoint now);
  /// The store has `revision`, so the watch must reach it. Returns whether the watch is behind it:
  /// then the owner asks the watch for its progress up to required(). A watch that is behind
  /// already gets no more time.
  bool Require(Revision revision, TimePoint now);

  /// The revision that the watch is known to have reached, and the greatest that it had to reach.
  Revision reached() const { return reached_; }
  Revision required() const { return required_; }
  /// Whether the watch has still to reach a required revision.
  bool behind() const { return reached_ < required_; }

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
  Duration Bound() const;

  Revision reached_;
  Revision required_;
  TimePoint still_since_{};  ///< it has delivered nothing new since; meaningful while it is behind
  int stood_still_ = 0;      ///< endpoints in a row, up to a bound
  TimePoint read_at_{};
};

}  // namespace baton::core
