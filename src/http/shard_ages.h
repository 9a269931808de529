// ShardAges: how long this process has seen each shard in its present term and state. Nothing is
// known about the time before the process saw the shard, so an age is a lower bound.
//
// Thread-safe: the node's loop writes, any thread reads.
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

  /// Returns how long each of these shards has had its present term and state, by shard number. The
  /// routes and the status reach this object separately. So the age is 0 and `at_least` is false if
  /// the shard's last route has another term or state than its status, or there is no route yet. A
  /// later call has the age.
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
