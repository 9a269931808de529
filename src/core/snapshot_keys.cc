#include "core/snapshot_keys.h"

#include <variant>

namespace baton::core {

SnapshotKeys::SnapshotKeys(const Snapshot& snapshot, std::uint32_t shards)
    : records(shards, false), moves(shards, false) {
  for (const Fact& fact : snapshot.facts) {
    std::visit([this](const auto& of_its_kind) { Note(of_its_kind); }, fact);
  }
}

void SnapshotKeys::Note(const ShardRecordFact& fact) {
  if (fact.shard.value < records.size()) records[fact.shard.value] = true;
}

void SnapshotKeys::Note(const MoveFact& fact) {
  if (fact.shard.value < moves.size()) moves[fact.shard.value] = true;
}

}  // namespace baton::core
