// ShardAges: how long this process has seen each shard in its present term and state. An age is a
// lower bound, because the shard may have been in them before this process saw it.
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
  /// This process has seen the shard in no other term or state, so the true age may be much
  /// greater.
  bool at_least = false;
  friend bool operator==(const ShardAge&, const ShardAge&) = default;
};

class ShardAges : public runtime::RouteObserver {
 public:
  /// REQUIRES: `clock` outlives this object.
  explicit ShardAges(const Clock& clock = Clock::Real()) : clock_(clock) {}

  void OnRoutes(const runtime::RouteBatch& batch) override;
  void OnRoutesEnded(const Error&) override {}

  /// Returns the ages of these shards, by shard number. The age is 0, and `at_least` false, if the
  /// shard has no route yet, or if its last route has another term or state than the status. A
  /// later call then returns the age.
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
