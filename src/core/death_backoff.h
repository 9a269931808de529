// DeathBackoff: claims of a shard wait if its leaders died soon after they began, several times in
// a row. So a shard that kills its process does not kill one process after another.
//
// The record counts the deaths (DeathTally). If its leader's session ends without a handoff, and
// it led for less than kShortLeadership, the next record counts one more. An orderly handoff adds
// nothing. Once leaders in turn have led the shard for kShortLeadership, the count is 0: together
// they have proven it harmless. From kDeathsBeforeWaiting on, nobody claims the shard for up to
// kFirstClaimWait, and up to twice as long after each further death.
//
// A death counts for all young shards of the process, not only for the one that killed it. So each
// wait is shortened by less than a half, by an amount that depends on the shard and the count, and
// shards that died together are not claimed together again. Those that are claimed after the
// harmful one are not counted at the next death, and soon it waits alone.
//
// Each node measures with its own clock what it sees. For a leadership that it did not see begin,
// it uses the wall-clock time in the record. So nodes may differ, by a wrong clock or by late news.
// That does no harm: a claim's guards decide who leads, and no wait is longer than kMaxClaimWait.
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
  explicit DeathBackoff(std::uint32_t shards)
      : began_(shards, TimePoint::min()), led_since_(shards, TimePoint::min()) {}

  /// When a record with this tally was written. The watch and the answers to writes show it when it
  /// is new. In a snapshot, read by a clock that showed `snapshot`, it may be old: then its stamp
  /// tells. A stamp from the future, by a wrong clock, counts as new.
  static TimePoint BeganAt(const DeathTally& tally, std::optional<WallTime> snapshot,
                           TimePoint now);
  /// Whether a record begins the first leadership in turn, or follows one in order: see GoesOn.
  enum class Turn { kFirst, kNext };
  /// The shard has a new record. `began`: when that was written; TimePoint::min(): nobody knows.
  void NoteRecord(ShardId shard, TimePoint began, Turn turn);
  struct End {
    TimePoint seen_at;
    /// This view saw the session alive, so it saw the end within moments. Otherwise the end may be
    /// as old as the record.
    bool seen_alive = false;
    /// What is known of members is as new as the record. Otherwise the session may be alive,
    /// unheard of: the reply to a write can show a record before the watch shows its leader.
    bool certain = true;
  };
  /// The session that the record names has ended. Only the first certain call for a record counts,
  /// and the wait does not end before it comes.
  void NoteEnded(ShardId shard, const RecordFact& record, const End& end);
  /// Whether only an uncertain end of the shard's session is known.
  bool Uncertain(ShardId shard) const;
  /// The shard is led, or its record names no leader.
  void NoteNoDeath(ShardId shard) { Forget(shard); }
  /// This process lives on after its own session: the end of that session was not a death.
  void NoteOutlived(const SessionRef& session);

  /// What the shard's next record says, if it is written now by a clock that shows `wall`.
  DeathTally Next(ShardId shard, const RecordFact& record, TimePoint now, WallTime wall) const;
  /// Whether a record with the tally `after` followed one with `before` in order.
  static bool GoesOn(const DeathTally& before, const DeathTally& after);
  /// How many deaths in a row count against the shard now. 0 once it has been led for
  /// kShortLeadership.
  std::uint32_t DeathsOf(ShardId shard, const RecordFact& record, TimePoint now) const;
  /// When the shard, if nobody dies, will have been led for kShortLeadership.
  TimePoint LongFrom(ShardId shard) const;
  /// Until when nobody claims the shard; TimePoint::min(): it need not wait.
  TimePoint WaitsUntil(ShardId shard) const;
  /// How many shards wait.
  std::size_t Waiting(TimePoint now) const;
  /// When the next wait ends; TimePoint::max(): nobody waits.
  TimePoint NextEnd(TimePoint now) const;

  /// How long claims wait at most after this many deaths.
  static Duration LongestWaitAfter(std::uint32_t deaths);
  /// How long claims of this shard wait: more than half of that, and at most all of it.
  static Duration WaitAfter(ShardId shard, std::uint32_t deaths);

 private:
  void Forget(ShardId shard);

  struct Ended {
    Term term;  ///< of the leadership that ended
    SessionRef session;
    std::uint32_t deaths = 0;  ///< with the one that ended it
    TimePoint waits_until = TimePoint::min();
    bool certain = true;
  };

  std::vector<TimePoint> began_;      ///< by shard: when its present record was written
  std::vector<TimePoint> led_since_;  ///< by shard: when the first leader in turn began
  std::map<ShardId, Ended> ended_;
  /// the ends of waits, also those that are over, of the shards in ended_
  std::set<std::pair<TimePoint, ShardId>> waits_;
  std::vector<SessionRef> outlived_;  ///< the last few
};

}  // namespace baton::core
