// RouteFeed: which routes changed, told to observers in batches.
//
// It looks at a shard only when a step touched it: its record, move or leader's liveness (the
// view's Touched), its leader's address, its move's target, or what only this node knows (Note). At
// most one batch leaves every kEvery, so that a storm of claims makes tens of batches.
//
// Everything runs on the executor. Owned by a shared_ptr: its timers do nothing once it is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/view.h"
#include "runtime/control.h"
#include "runtime/executor.h"

namespace baton::runtime {

/// Names the store's history: etcd's cluster id mixed with the revision of the group's config (0:
/// there is none). A group whose keys were deleted has that anew, as after a restored backup, which
/// may keep the id. 0 only where `cluster` is.
std::uint64_t HistoryOf(std::uint64_t cluster, Revision config);

/// What the feed looks at; all outlive it, or its Close.
struct RouteSource {
  Executor& executor;
  const Clock& clock;
  const core::View& view;
  std::function<ShardStatus(ShardId)> shard;  ///< as ShardOf shows it now
  std::function<TimePoint()> proven_at;       ///< when the view was last proven current
  std::function<Duration()> stale_after;
};

class RouteFeed : public std::enable_shared_from_this<RouteFeed> {
 public:
  /// Between two batches.
  static constexpr Duration kEvery = std::chrono::milliseconds(5);
  /// How late a batch that only tells a revision or a proof may be.
  static constexpr Duration kProofWithin = std::chrono::milliseconds(500);

  RouteFeed(RouteSource source, RouteGroup group);

  /// All routes come first.
  void Add(std::shared_ptr<RouteObserver> observer);
  /// A step changed this in the view.
  void Note(const core::Touched& touched);
  /// What only this node knows of the shard changed.
  void Note(ShardId shard);
  /// The view's revision or its proof may have moved on.
  void NoteProof();
  /// The store's history (HistoryOf), once known.
  void SetHistory(std::uint64_t history);
  /// Tells observers that no batch follows; nothing is done any more.
  void Close(const Error& why);

 private:
  /// What of a member concerns routes.
  struct Seen {
    std::string address;
    bool live = false;
    SessionId lease;
    friend bool operator==(const Seen&, const Seen&) = default;
  };

  void Mark(ShardId shard);
  void ArmForDirty();
  void NoteMembers();
  void Arm(Duration delay);
  void Flush();
  void Look(ShardId shard, std::vector<Route>* changed);
  std::shared_ptr<const RouteLeader> Intern(const ShardStatus& status);
  RouteBatch Batch(std::vector<Route> routes) const;

  const RouteSource source_;
  std::shared_ptr<const RouteGroup> group_;
  std::vector<std::shared_ptr<RouteObserver>> observers_;
  std::vector<std::shared_ptr<RouteObserver>> fresh_;  ///< have got nothing yet
  std::vector<Route> table_;  ///< as told; empty before the view is complete
  std::map<NodeId, std::shared_ptr<const RouteLeader>> leaders_;
  std::map<NodeId, Seen> seen_;
  std::vector<ShardId> dirty_;
  std::vector<bool> dirty_flag_;
  Revision told_revision_;
  TimePoint told_proof_{};
  TimePoint flushed_at_{};
  TimePoint due_ = TimePoint::max();
  std::optional<Error> closed_;
};

}  // namespace baton::runtime
