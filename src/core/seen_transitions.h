// SeenTransitions: turns what a view shows into changes of leadership, each once.
//
// If two leaderships of a shard arrive in one message, the view keeps only the newer one, so only
// the newer one is reported; its `from` is the previous leader that the record names. The
// leaderships in the first complete view are not reported.
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
  /// If a leadership is in force that was not at the last look, returns the transition to it;
  /// otherwise nullopt. `elect` is how long this view saw no leader.
  std::optional<Transition> Look(const View& view, ShardId shard);

 private:
  std::vector<Term> noted_;  ///< by shard: the newest leadership looked at
  bool complete_ = false;    ///< the view was complete at the last Begin
  bool begun_ = false;       ///< the view was complete at the Begin before that, too
};

}  // namespace baton::core
