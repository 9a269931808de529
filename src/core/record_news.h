// RecordNews: reports what the view's records show and no other part of the core reports: damaged
// records, and what other nodes lead now.
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

  /// REQUIRES: `leaderships` has been reconciled with the view.
  void Note(Context& context, const ViewChanges& changes, const Leaderships& leaderships);
  /// How many records this node has seen that are damaged, in whole or in part.
  std::uint64_t damaged() const { return damaged_; }

 private:
  void NoteDamage(Context& context, ShardId shard, const RecordFact& record);
  void NoteUnusableText(Context& context, const ViewChanges& changes);

  SeenTransitions seen_;
  std::map<ShardId, Revision> damage_said_;
  std::map<NodeId, Revision> text_said_;
  std::uint64_t damaged_ = 0;
};

}  // namespace baton::core
