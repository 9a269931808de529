// DeathBackoff: claims of a shard wait if its leaders died soon after they began to lead, several
// times in a row. So a shard that kills its process does not kill one process after another.
//
// The shard's record counts these deaths (DeathTally). Suppose that a leader's session ends less
// than kShortLeadership after the leadership began, without a handoff. Then the next record counts
// one death more. An orderly handoff adds nothing. Leaders that follow one another by orderly
// handoffs form a series. Once a series has led the shard for kShortLeadership, the count is 0,
// because the shard has proven harmless. After kDeathsBeforeWaiting deaths, nobody claims the shard
// for up to kFirstClaimWait. Each further death doubles this wait, up to kMaxClaimWait.
//
// A death counts for all shards that the process led for less than kShortLeadership, not only for
// the shard that killed it. Therefore each wait is shortened, by less than a half. The length
// depends on shard and count (there are 8 lengths). So most of these shards are not claimed
// together again. When the harmful shard is claimed, its leader dies before it has claimed the
// shards with longer waits. So this death does not count for them. Soon the harmful shard waits
// alone.
//
// Each node measures the times with its own clock. For a leadership that it did not see begin, it
// uses the wall-clock time in the record. So nodes may differ, because of a wrong clock or late
// news. That does no harm: a claim's guards decide who leads, and each wait ends at most
// kMaxClaimWait after this node knows that the session has ended.
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
  /// REQUIRES for all functions (only partly checked): each shard is below `shards`.
  explicit DeathBackoff(std::uint32_t shards)
      : began_(shards, TimePoint::min()), led_since_(shards, TimePoint::min()) {}

  /// The time at which a record with this tally counts as written. If `snapshot` is unset, the
  /// watch or the answer to a write showed the record. So the record is new, and the time is `now`.
  /// Otherwise a snapshot showed it, which was read when the wall clock showed `snapshot`. Then the
  /// record's age is the time from DeathTally::begun to `snapshot`. (If the tally has deaths,
  /// `begun` may be earlier than the record, because `begun` is then the time when the series of
  /// leaders began; see DeathTally.) A `begun` in the future counts as new. TimePoint::min():
  /// `snapshot` or `begun` is WallTime{} (not known), or the age is over an hour.
  static TimePoint BeganAt(const DeathTally& tally, std::optional<WallTime> snapshot,
                           TimePoint now);
  /// kFirst: the record begins a series of leaders. kNext: it goes on with the present series (see
  /// GoesOn).
  enum class Turn { kFirst, kNext };
  /// The shard has a new record, so its wait is over. `began`: see BeganAt.
  void NoteRecord(ShardId shard, TimePoint began, Turn turn);
  struct End {
    TimePoint seen_at;
    /// This view saw the session alive, so it saw the end within moments. Otherwise the end may be
    /// as old as the record. Then the end counts as a death if the record is younger than
    /// kShortLeadership plus the wait after this death. Reason: other nodes that saw the end may
    /// still be in that wait.
    bool seen_alive = false;
    /// The view's knowledge of the leader's member key is at least as new as the record. Otherwise
    /// the session may be alive but not known yet: the answer to a write can show a record before
    /// the watch shows its leader.
    bool certain = true;
  };
  /// The session that the record names has ended. If the shard has to wait now, the wait begins
  /// with the first certain call for a record; further calls change nothing. After an uncertain
  /// call the shard waits without an end. This lasts until a certain call sets the end (or finds
  /// that no wait is needed), or until NoteRecord, NoteNoDeath or NoteOutlived is called. REQUIRES
  /// (not checked): the record is readable and names a leader.
  void NoteEnded(ShardId shard, const RecordFact& record, const End& end);
  /// Whether the session's end would count as a death, but no certain call has said so yet.
  bool Uncertain(ShardId shard) const;
  /// The shard is led, or its record names no leader or can't be read: the wait is over.
  void NoteNoDeath(ShardId shard) { Forget(shard); }
  /// This process lives on after its own session: the end of that session was not a death.
  /// Remembers the last 8 such sessions.
  void NoteOutlived(const SessionRef& session);

  /// The tally for the shard's next record, if it is written now and the wall clock shows `wall`.
  DeathTally Next(ShardId shard, const RecordFact& record, TimePoint now, WallTime wall) const;
  /// Whether a record with the tally `after` followed one with `before` in order. False if the
  /// `begun` of `after` is not known. Also false if `after` has no deaths: a series without deaths
  /// need not be measured.
  static bool GoesOn(const DeathTally& before, const DeathTally& after);
  /// How many deaths in a row count against the shard now, including the death of the record's
  /// leader if that counts. 0 once a series of leaders has led the shard for kShortLeadership.
  std::uint32_t DeathsOf(ShardId shard, const RecordFact& record, TimePoint now) const;
  /// When the present series will have led the shard for kShortLeadership, if no leader dies; a
  /// past time: it has. TimePoint::min(): nobody knows when the series began, and it counts as
  /// begun long ago.
  TimePoint LongFrom(ShardId shard) const;
  /// Until when nobody claims the shard; a past time: the wait is over. TimePoint::min(): it need
  /// not wait. Max: it has to wait, but the end of the session is uncertain.
  TimePoint WaitsUntil(ShardId shard) const;
  /// How many shards wait now, also without a known end.
  std::size_t Waiting(TimePoint now) const;
  /// When the next wait ends; TimePoint::max(): no shard waits, or no end is known.
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
  /// When the waits of the shards in ended_ end, also waits that are over.
  std::set<std::pair<TimePoint, ShardId>> waits_;
  std::vector<SessionRef> outlived_;  ///< the last few, oldest first
};

}  // namespace baton::core
