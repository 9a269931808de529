// DamagedRecords: which shards have a record that can't be read, since when, and who led each of
// them last.
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"

namespace baton::core {

class DamagedRecords {
 public:
  struct Damage {
    std::optional<SessionRef> last_leader{};  ///< see View::LastKnownLeader
    TimePoint since{};                        ///< see View::DamagedSince
    /// When this node had learnt of both the damage and the end of last_leader's session. Max: the
    /// session lives, or last_leader is not known.
    TimePoint over_since = TimePoint::max();
  };

  const std::map<ShardId, Damage>& all() const { return all_; }
  /// Null if the shard's record is readable or absent.
  const Damage* Of(ShardId shard) const {
    const auto found = all_.find(shard);
    return found != all_.end() ? &found->second : nullptr;
  }
  /// The nodes of all known last leaders.
  std::set<NodeId> LastLeaders() const;

  /// The record can't be read now, and others may have led after the last record that was known. So
  /// the last leader is not known. If the shard is in all() already, its damage begins again at
  /// `now`.
  void NoteAfterGap(ShardId shard, TimePoint now) { all_[shard] = {.since = now}; }
  /// The record can't be read now, and `before` was the record just before. The leader that
  /// `before` names becomes the last leader. `alive`: the session that `before` names lives.
  /// Changes nothing if the shard is in all() already, because then `before` could not be read
  /// either.
  void NoteNext(ShardId shard, const RecordFact& before, bool alive, TimePoint now);
  /// The record can be read, or is absent.
  void NoteReadable(ShardId shard) { all_.erase(shard); }
  /// The session of the shard's last leader has ended; only the first call counts. REQUIRES: all()
  /// has the shard (otherwise it throws std::out_of_range).
  void NoteOver(ShardId shard, TimePoint now);

 private:
  std::map<ShardId, Damage> all_;
};

}  // namespace baton::core
