// SeenTransitions: which changes of leadership a view shows, each once.
//
// A view merges what it is told by revision, so of two leaderships of a shard that came in one
// message it shows the last one alone; who led before that one is what its record says. What the
// first complete view shows is no change.
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

  /// To be called before the shards of one merge are looked at.
  void Begin(const View& view) { begun_ = std::exchange(complete_, view.complete()); }
  /// The leadership that began, where the shard has another one than when it was last looked at;
  /// `elect` is how long this view saw nobody lead.
  std::optional<Transition> Look(const View& view, ShardId shard);

 private:
  std::vector<Term> noted_;  ///< by shard: the newest leadership looked at
  bool complete_ = false;    ///< the view was, at the last Begin
  bool begun_ = false;       ///< and also at the one before
};

}  // namespace baton::core
