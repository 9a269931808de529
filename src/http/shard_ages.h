// ShardAges: how long this process has seen each shard in its present term and state. The shard may
// have been in them before this process first saw it, so an age is a lower bound.
//
// Thread-safe. The node's loop calls OnRoutes; any thread may call Of.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "runtime/control.h"

namespace baton::http {

/// How long a shard has been in its present term and state.
struct ShardAge {
  Duration lasted{0};  ///< a lower bound
  /// The shard was already in this term and state when this process first saw it, so the true age
  /// may be much greater.
  bool at_least = false;
  friend bool operator==(const ShardAge&, const ShardAge&) = default;
};

class ShardAges : public runtime::RouteObserver {
 public:
  /// REQUIRES: `clock` outlives this object.
  explicit ShardAges(const Clock& clock = Clock::Real()) : clock_(clock) {}

  void OnRoutes(const runtime::RouteBatch& batch) override;
  void OnRoutesEnded(const Error&) override {}

  /// Returns, by shard number, how long each of these shards has had its present term and state.
  /// The shard's last route may be older or newer than this status. If it has another term or
  /// state, or if there is no route yet, the age is 0 and `at_least` is false. A later call returns
  /// the age.
  std::unordered_map<std::uint32_t, ShardAge> Of(
      const std::vector<const runtime::ShardStatus*>& shards) const;

 private:
  struct Entry {
    Term term;
    ShardState state = ShardState::kLeaderless;
    TimePoint since = TimePoint::min();  ///< min: never seen
    bool first = true;                   ///< still in the term and state that was seen first
  };

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  ///< by shard; grows to the group's count
};

}  // namespace baton::http
