// RecordNews: reports what no other part of the core reports:
//  - Damaged records of shards.
//  - Member records with a text that can't be used.
//  - Leaderships that begin on other nodes.
//  - Members that flap (Steadiness::Flaps in steadiness.h), each time that the delay grows after
//  which they get shards again.
//
// A revision of a record is reported at most once.
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

  /// Reports what changed in the view. REQUIRES: each ViewChanges of the view is passed here, in
  /// the step in which it was taken, after Leaderships::Reconcile has seen it.
  void Note(Context& context, const ViewChanges& changes, const Leaderships& leaderships);
  /// How many damaged records this node has seen, each revision at most once. A shard's record
  /// counts if it can't be read or has a newer schema. A member's record counts if it can be read,
  /// but has a text that can't be used (MemberFact::unusable_text). Records of other kinds don't
  /// count.
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
