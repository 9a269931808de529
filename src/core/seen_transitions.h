// SeenTransitions: turns what a view shows into changes of leadership, each once.
//
// If two leaderships of a shard arrive in one message, the view keeps only the newer one, so only
// the newer one is reported. Its `from` is the previous leader that the record names. The
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

  /// Call it once after each merge, before Look for the merged shards.
  void Begin(const View& view) { begun_ = std::exchange(complete_, view.complete()); }
  /// Returns the transition to the leadership that is in force. Nullopt: nobody leads, an earlier
  /// Look saw the leadership, or the view was not complete before this merge. `elect` is how long
  /// this view saw no leader; 0: it saw no such time. Call it for each shard whose leadership a
  /// merge may have changed, also before the view is complete. Otherwise a later call would report
  /// a leadership that is old. REQUIRES (not checked): the shard is below `shards` of the
  /// constructor.
  std::optional<Transition> Look(const View& view, ShardId shard);

 private:
  std::vector<Term> noted_;  ///< by shard: the newest leadership that Look saw
  bool complete_ = false;    ///< the view was complete at the last Begin
  bool begun_ = false;       ///< the view was complete at the Begin before that
};

}  // namespace baton::core
