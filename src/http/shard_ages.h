// ShardAges: since when this node has seen each shard as it is now, for pages that say how long
// something has lasted. What lasted before the node's view was complete is not known to it.
//
// Thread-safe: the node's loop tells, anybody asks. An age is a lower bound.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "runtime/control.h"

namespace baton::http {

/// How long a shard has been as it is.
struct ShardAge {
  Duration lasted{0};  ///< a lower bound
  /// It was so when this process first saw it: `lasted` says nothing of how long before that.
  bool at_least = false;
  friend bool operator==(const ShardAge&, const ShardAge&) = default;
};

class ShardAges : public runtime::RouteObserver {
 public:
  explicit ShardAges(const Clock& clock = Clock::Real()) : clock_(clock) {}

  void OnRoutes(const runtime::RouteBatch& batch) override;
  void OnRoutesEnded(const Error&) override {}

  /// How long each of these shards has had its present term and state; 0 where this object was told
  /// of others, which a later picture has put right.
  std::unordered_map<std::uint32_t, ShardAge> Of(
      const std::vector<const runtime::ShardStatus*>& shards) const;

 private:
  struct Entry {
    Term term;
    ShardState state = ShardState::kLeaderless;
    TimePoint since = TimePoint::min();  ///< min: never told of
    bool first = true;                   ///< as it was when it was told of first
  };

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  ///< by shard; grows to the group's count
};

}  // namespace baton::http
