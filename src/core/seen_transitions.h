// SeenTransitions: turns what a view shows into changes of leadership, each once.
//
// If two leaderships of a shard arrive in one message, the view keeps only the newer one, so only
// that one is reported; its `from` is then the leader before it, as the record says. What the first
// complete view shows is no change.
//
// Pure and single-threaded: owned by a core, or by a relay.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "baton/types.h"
#include "core/view.h"

namespace baton::core {

class SeenTransitions {
 public:
  explicit SeenTransitions(std::uint32_t shards) : noted_(shards) {}

  /// Call it once per merge, before looking at the merged shards.
  void Begin(const View& view) { begun_ = std::exchange(complete_, view.complete()); }
  /// The leadership that began, if the shard has another one than at the last look; nullopt if not.
  /// `elect` is how long this view saw no leader.
  std::optional<Transition> Look(const View& view, ShardId shard);

 private:
  std::vector<Term> noted_;  ///< by shard: the newest leadership looked at
  bool complete_ = false;    ///< the view was complete at the last Begin
  bool begun_ = false;       ///< and also at the Begin before
};

}  // namespace baton::core
