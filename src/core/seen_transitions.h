// SeenTransitions: finds the leaderships that begin in a view, and reports each of them once. It
// does not report their ends.
//
// If two leaderships of a shard arrive in one message, the view keeps only the newer one, so only
// the newer one is reported. Its `from` is the previous leader that the record names. Leaderships
// that the view knew when it became complete are not reported.
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

  /// Call it after each merge, before Look for the shards that the merge changed. Further calls
  /// without a merge do no harm once these Looks are done.
  void Begin(const View& view) { begun_ = std::exchange(complete_, view.complete()); }
  /// Returns the transition to the leadership that is in force. Nullopt: nobody leads, an earlier
  /// Look saw the leadership, or the view was not complete before this merge. `elect` is
  /// View::LastGap: how long this view saw no leader; 0: it saw no such time. Does not set
  /// `activate`, `detect` or `detect_at_most`.
  ///
  /// Call it for each shard whose leadership a merge may have changed, right after Begin, and also
  /// before the view is complete. Otherwise a later call would report a leadership that is old.
  /// REQUIRES (not checked): the shard is below `shards` of the constructor, and
  /// View::shard_count() is the same.
  std::optional<Transition> Look(const View& view, ShardId shard);

 private:
  std::vector<Term> noted_;  ///< by shard: the newest leadership that Look saw
  bool complete_ = false;    ///< the view was complete at the last Begin
  bool begun_ = false;       ///< the view was complete at the Begin before that
};

}  // namespace baton::core
