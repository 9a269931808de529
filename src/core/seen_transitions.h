// SeenTransitions: finds the leaderships that begin in a view, and reports each of them once. It
// does not report their ends.
//
// If two leaderships of a shard arrive in one message, the view keeps the newer one, and the older
// one is not reported. `from` is the previous leader that the shard's record names. Leaderships
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

  /// REQUIRES: call Begin after each merge, before Look for the shards that the merge changed. Once
  /// these calls of Look are done, further calls of Begin without a merge do no harm.
  void Begin(const View& view) { begun_ = std::exchange(complete_, view.complete()); }
  /// Returns the transition to the shard's present leadership. Nullopt: nobody leads, an earlier
  /// Look saw the leadership, or the view was not complete before this merge. `elect` is
  /// View::LastGap: how long this view saw no leader; 0: it saw no such time. `activate`, `detect`
  /// and `detect_at_most` are not set.
  ///
  /// REQUIRES (not checked): after each Begin, even before the view is complete, call Look for each
  /// shard whose leadership the merge may have changed. Otherwise a later call would report an old
  /// leadership. Also, the shard is below `shards` of the constructor, which equals
  /// View::shard_count().
  std::optional<Transition> Look(const View& view, ShardId shard);

 private:
  std::vector<Term> noted_;  ///< by shard: the newest leadership that Look saw
  bool complete_ = false;    ///< the view was complete at the last Begin
  bool begun_ = false;       ///< the view was complete at the Begin before that
};

}  // namespace baton::core
