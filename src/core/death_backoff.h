// DeathBackoff: delays claims of a shard if several of its leaders in a row died soon after they
// began to lead. So a shard that kills its process does not kill one process after another.
//
// The shard's record counts these deaths (DeathTally). A leader's death counts if its session ends
// without a handoff, less than kShortLeadership after the leadership began. Leaders that follow one
// another by orderly handoffs form a series. Once a series has led the shard for kShortLeadership,
// the count is 0 again. After kDeathsBeforeWaiting deaths, nobody claims the shard for up to
// kFirstClaimWait. Each further death doubles this wait, up to kMaxClaimWait. The constants are in
// options.h.
//
// When a process dies, the death counts for every shard that the process had led for less than
// kShortLeadership. So that these shards are not all claimed together again, each wait is shortened
// by less than a half. The length of a wait depends on the shard and the count; there are 8
// lengths. After a few deaths, the harmful shard waits alone.
//
// Each node measures the times with its own clock. If a node did not see a leadership begin, the
// node uses the wall-clock time in the record. So nodes may differ. That does no harm: a claim's
// guards decide who leads. Each wait ends at most kMaxClaimWait after this node knows that the
// session has ended.
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"

namespace baton::core {

class DeathBackoff {
 public:
  /// REQUIRES for all functions (partly checked): each shard is below `shards`.
  explicit DeathBackoff(std::uint32_t shards)
      : began_(shards, TimePoint::min()), led_since_(shards, TimePoint::min()) {}

  /// The time at which a record with this tally counts as written:
  ///  - `snapshot` is unset: the watch or the answer to a write showed the record. The record is
  ///    new, so the result is `now`.
  ///  - `snapshot` is set: a read of everything showed the record, when the wall clock showed
  ///    `snapshot`. The record's age is the time from DeathTally::begun to `snapshot`, but not
  ///    below 0. The result is `now` minus this age. If `snapshot` or `begun` is WallTime{} (not
  ///    known), or the age is over an hour, the result is TimePoint::min().
  ///
  /// If the tally has deaths, `begun` may be earlier than the record (see DeathTally).
  static TimePoint BeganAt(const DeathTally& tally, std::optional<WallTime> snapshot,
                           TimePoint now);
  /// kFirst: the record begins a series of leaders. kNext: the record continues the present series
  /// (see GoesOn).
  enum class Turn { kFirst, kNext };
  /// The shard has a new record, so its wait is over. `began`: see BeganAt.
  void NoteRecord(ShardId shard, TimePoint began, Turn turn);
  struct End {
    TimePoint seen_at;
    /// True: this view saw the session alive, so the end is new. False: the end may be as old as
    /// the record. Then the end counts as a death if the record is younger than kShortLeadership
    /// plus the wait after this death.
    bool seen_alive = false;
    /// True: what the view knows of the leader's member key is at least as new as the record.
    /// False: the session may be alive but not known yet, because a write's answer can show a
    /// record before the watch shows the leader.
    bool certain = true;
  };
  /// The session that the record names has ended. If the shard has to wait now, the first certain
  /// call for the record sets the end of the wait. Further calls for that record change nothing. If
  /// an uncertain call comes first, the wait has no end until a certain call decides. A call of
  /// NoteRecord, of NoteNoDeath, or of NoteOutlived for the session ends each wait. REQUIRES (not
  /// checked): the record is readable and names a leader.
  void NoteEnded(ShardId shard, const RecordFact& record, const End& end);
  /// Whether an uncertain NoteEnded found a death, and no certain call has decided yet.
  bool Uncertain(ShardId shard) const;
  /// The shard is led, or its record names no leader or can't be read: the wait is over.
  void NoteNoDeath(ShardId shard) { Forget(shard); }
  /// `session` was a session of this process, which lives on. So the end of `session` is no death.
  /// Remembers the last 8 such sessions.
  void NoteOutlived(const SessionRef& session);

  /// The tally for the shard's next record, if it is written now and the wall clock shows `wall`.
  DeathTally Next(ShardId shard, const RecordFact& record, TimePoint now, WallTime wall) const;
  /// Whether a record with the tally `after` continues the series of the record before, which had
  /// the tally `before`. False if `after` has no deaths or no known `begun`.
  static bool GoesOn(const DeathTally& before, const DeathTally& after);
  /// How many deaths in a row count against the shard now. Includes the death of the record's
  /// leader, if that death counts. 0 once a series has led the shard for kShortLeadership.
  std::uint32_t DeathsOf(ShardId shard, const RecordFact& record, TimePoint now) const;
  /// The time at which the present series has led the shard for kShortLeadership, if no leader dies
  /// before. It may be a past time. TimePoint::min(): nobody knows when the series began, so it
  /// counts as begun long ago.
  TimePoint LongFrom(ShardId shard) const;
  /// Until when nobody claims the shard; a past time: the wait is over. TimePoint::min(): the shard
  /// need not wait. Max: the shard waits, but the end of the session is uncertain.
  TimePoint WaitsUntil(ShardId shard) const;
  /// How many shards wait now, including those whose wait has no known end.
  std::size_t Waiting(TimePoint now) const;
  /// When the next wait ends; TimePoint::max(): no shard waits, or no end of a wait is known.
  TimePoint NextEnd(TimePoint now) const;

  /// The longest that claims may wait after this many deaths; 0 below kDeathsBeforeWaiting.
  static Duration LongestWaitAfter(std::uint32_t deaths);
  /// How long claims of this shard wait: more than half of LongestWaitAfter, and at most all of it;
  /// 0 below kDeathsBeforeWaiting.
  static Duration WaitAfter(ShardId shard, std::uint32_t deaths);

 private:
  void Forget(ShardId shard);

  struct Ended {
    Term term;  ///< of the leadership that ended
    SessionRef session;
    std::uint32_t deaths = 0;  ///< with the death that ended it
    TimePoint waits_until = TimePoint::min();
    bool certain = true;
  };

  std::vector<TimePoint> began_;      ///< by shard: when its present record was written
  std::vector<TimePoint> led_since_;  ///< by shard: when the present series of leaders began
  std::map<ShardId, Ended> ended_;
  /// When the waits of the shards in ended_ end, including waits that are over.
  std::set<std::pair<TimePoint, ShardId>> waits_;
  std::vector<SessionRef> outlived_;  ///< the last few, oldest first
};

}  // namespace baton::core
