// RecordNews: reports what no other part of the core reports: damaged records, texts of members
// that can't be used, which shards other nodes lead now, and members that come and go. What a
// record says is reported once per revision.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstdint>
#include <map>

#include "core/context.h"
#include "core/leaderships.h"
#include "core/seen_transitions.h"

namespace baton::core {

class RecordNews {
 public:
  explicit RecordNews(std::uint32_t shards) : seen_(shards) {}

  /// Call it once after each merge. REQUIRES: `leaderships` has been reconciled with the view.
  void Note(Context& context, const ViewChanges& changes, const Leaderships& leaderships);
  /// How many damaged records this node has seen, each revision once. A shard's record counts if it
  /// can't be read or has a newer schema. A member's record counts if it can be read, but has a
  /// text that can't be used. No other records count.
  std::uint64_t damaged() const { return damaged_; }

 private:
  void NoteDamage(Context& context, ShardId shard, const RecordFact& record);
  void NoteUnusableText(Context& context, const ViewChanges& changes);

  SeenTransitions seen_;
  std::map<ShardId, Revision> damage_said_;  ///< the revisions that were reported
  std::map<NodeId, Revision> text_said_;
  std::uint64_t damaged_ = 0;
};

}  // namespace baton::core
