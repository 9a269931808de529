// DamagedRecords: the shards whose records can't be read, since when, and who led them last.
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
    /// When this node learnt, from the watch or a read, that the session of last_leader had ended;
    /// max: it has not.
    TimePoint over_since = TimePoint::max();
  };

  const std::map<ShardId, Damage>& all() const { return all_; }
  /// Null if the shard's record is readable.
  const Damage* Of(ShardId shard) const {
    const auto found = all_.find(shard);
    return found != all_.end() ? &found->second : nullptr;
  }
  /// The nodes that led such shards last.
  std::set<NodeId> LastLeaders() const;

  /// The record can't be read now, and others may have led since what was known before.
  void NoteAfterGap(ShardId shard, TimePoint now) { all_[shard] = {.since = now}; }
  /// The record can't be read now, and `before` was the record just before that. `alive`: the
  /// session that it names lives. If that record was unreadable, too, what is known of the damage
  /// stays.
  void NoteNext(ShardId shard, const RecordFact& before, bool alive, TimePoint now);
  void NoteReadable(ShardId shard) { all_.erase(shard); }
  /// The session of the shard's last leader has ended.
  void NoteOver(ShardId shard, TimePoint now);

 private:
  std::map<ShardId, Damage> all_;
};

}  // namespace baton::core
