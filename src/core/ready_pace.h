// ReadyPace: decides when a node may tell the group for which shards it is a ready standby. See
// SayReadyEvery and kTakeReadyBackWithin in core/options.h for the bounds and their reasons.
//
// Pure and single-threaded: owned by StandbyDuties.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/clock.h"
#include "core/options.h"

namespace baton::core {

class ReadyPace {
 public:
  /// The earliest time at which the node may tell the group a change; a past time: now. Before the
  /// first Told the result is a past time. `taken_back`: the node has told the group that it is
  /// ready for some shard. It still stands by for that shard, but is not ready any more.
  TimePoint NotBefore(bool taken_back) const {
    return taken_back ? std::min(not_before_, taken_back_not_before_) : not_before_;
  }
  /// The node tells the group now. After that, NotBefore(false) is `now` + SayReadyEvery(members,
  /// shards). NotBefore(true) is the same or earlier (kTakeReadyBackWithin). `taken_back`: as for
  /// NotBefore, just before this call. `members`: how many live members the group has. `shards`:
  /// for how many shards the node is ready.
  void Told(TimePoint now, bool taken_back, std::size_t members, std::size_t shards) {
    const Duration every = SayReadyEvery(members, shards);
    const bool again = taken_back && now < not_before_ + every;
    hurry_ = again ? std::min(2 * hurry_, every) : kTakeReadyBackWithin;
    taken_back_not_before_ = now + hurry_;
    not_before_ = now + every;
  }

 private:
  TimePoint not_before_{};
  TimePoint taken_back_not_before_{};
  Duration hurry_ = kTakeReadyBackWithin;
};

}  // namespace baton::core
