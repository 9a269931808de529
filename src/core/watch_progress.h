// WatchProgress: answers whether a watch of the group is current.
//
// A watch may be late without bound, or stand still at a stuck member of etcd. Its messages don't
// show how far it is behind. So the watch's owner commits a transaction, or reads linearizably, and
// requires that the watch reaches the revision of the answer. There are three cases:
//  - The watch has reached the required revision. Then it has delivered every change up to there.
//  - The watch is behind and delivers something new. Then the owner leaves it alone, however late
//    it is, because another endpoint would have to send the same changes again.
//  - The watch is behind and has delivered nothing new for kWatchStandsStill. Then it stands still,
//    and the owner opens it on another endpoint. The first kEndpointsAtOnce endpoints in a row have
//    this time each. For each further endpoint the time doubles, up to kMaxWatchStandsStill. When
//    the watch delivers something new, the row begins again.
//
// Around a compaction, a watch may miss a deletion, and no revision shows this. So the owner also
// reads the whole view again from time to time (an audit). options.h has the constants.
//
// Pure and single-threaded: owned by a core, or by a relay. REQUIRES (not checked): `now` never
// goes back.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/clock.h"
#include "baton/types.h"

namespace baton::core {

class WatchProgress {
 public:
  /// The watch, or a read of everything, has delivered every change up to `revision`. Ignores a
  /// revision that is not greater than reached(). An answer to another call proves nothing here:
  /// call Require with its revision.
  void Reach(Revision revision, TimePoint now);
  /// The store has `revision`, so the watch must reach it. Returns whether the watch is behind
  /// `revision`. If so, the owner must ask the watch for its progress up to required(). A watch
  /// that was behind already gets no new time to deliver something new.
  bool Require(Revision revision, TimePoint now);

  /// The greatest revision that Reach was called with; 0 at first.
  Revision reached() const { return reached_; }
  /// The greatest revision for which Require returned true; 0: Require never did. The watch may
  /// have reached this revision by now.
  Revision required() const { return required_; }
  /// Whether the watch has still to reach a required revision.
  bool behind() const { return reached_ < required_; }

  /// Returns nullopt if the watch does not stand still. Otherwise returns a line for the log, and
  /// the owner must open the watch on another endpoint. That endpoint's time begins with this call.
  std::optional<std::string> StandsStill(TimePoint now);
  /// From this time on, StandsStill returns a line. TimePoint::max(): the watch is not behind.
  TimePoint StandsStillAt() const;

  /// Everything was read at `now`.
  void NoteRead(TimePoint now) { read_at_ = now; }
  /// Whether an audit is due: `every` has passed since the last read, and since `since`. Before the
  /// first NoteRead, TimePoint{} counts as the last read. If the result is true, the owner must
  /// begin a read now. Even if that read fails, the next audit is due `every` later.
  bool AuditDue(TimePoint now, Duration every, TimePoint since = TimePoint::min());
  /// When the next audit is due; a past time: now.
  TimePoint AuditAt(Duration every, TimePoint since = TimePoint::min()) const {
    return std::max(read_at_, since) + every;
  }

  /// Whether the owner must ask for the store's revision now; true in the first call. If so, the
  /// next question is due `every` later, even if etcd does not answer this question.
  bool AskDue(TimePoint now, Duration every);
  /// When the next question is due; a past time: now.
  TimePoint AskAt() const { return ask_at_; }

 private:
  Duration Bound() const;

  Revision reached_;
  Revision required_;
  TimePoint still_since_{};  ///< when the watch last delivered something new, or fell behind
  int stood_still_ = 0;      ///< endpoints in a row that stood still, up to a bound
  TimePoint read_at_{};
  TimePoint ask_at_{};
};

}  // namespace baton::core
