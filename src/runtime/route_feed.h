// RouteFeed: tells observers which routes changed, in batches.
//
// When a batch leaves:
//   - A change leaves on the executor's next turn, but two batches are at least kEvery apart. So a
//     storm of claims makes at most 200 batches a second.
//   - If only the view's revision or the time of the view's last proof changed, a batch without
//     routes leaves within kProofWithin.
//   - A new observer gets its first batch on the executor's next turn, without a wait for kEvery.
//     Changes that were waiting leave at the same time.
//   - Before the view is complete, no batch leaves. Observers that wait for a complete view get
//     their first batch within kProofWithin after the first NoteProof with a complete view.
//   - Close sends no batch: it drops the changes that still wait, and ends all observers at once.
//
// Content of a batch:
//   - Each shard at most once, ordered by number, with its route at the time when the batch leaves.
//     An observer may miss states in between, but never the newest state.
//   - An observer's first batch has all routes. A later batch has the routes that changed.
//   - The keys of a route are the shard's record, its move, and the member keys of its leader and
//     standbys. A route that is sent has the greatest of these revisions: the view's, those of the
//     route's keys, and the revision with which the route was last sent. So a route's revision
//     never goes back.
//   - If the feed examines a shard (see Cost), and its route looks the same as before, the route is
//     sent again if (and only if) one of its keys has a greater revision than the route last sent.
//     Reason: another server may have sent a router a different route meanwhile, and the greater
//     revision tells which route is newer.
//   - Each route has its standbys, as ShardStatus::standbys gives them. A change of the standbys is
//     a change of the route.
//   - A route has the state kMoving only while a live move of its shard is in etcd, whatever the
//     leader does.
//   - Each batch also says up to which revision the observer's routes are now complete (this never
//     decreases), and for which time the view was last proven to be current.
//
// Neither Leads() nor the application's callbacks wait for the feed.
//
// Cost: after the first batch, the feed examines a shard only in these cases:
//   - Note(shard) named it.
//   - Note(changes) listed it in ViewChanges::shards or ViewChanges::standbys.
//   - Note(changes) listed its leader, and the leader's address changed.
//   - Note(changes) listed one of its standbys, and the standby's address changed while the standby
//     was live. To find such shards, the feed walks over all routes (if any route has standbys).
//   - Note(changes) listed the target of its move, and the target's address, lease or liveness
//     changed.
//
// Threads: call the feed only on the executor; the feed calls its observers there, too. An observer
// must not call the feed from inside OnRoutes. From inside OnRoutesEnded it may: the feed is closed
// then. The feed keeps each observer until Close. If the feed is destroyed without Close,
// OnRoutesEnded is not called. REQUIRES: a shared_ptr owns the feed.
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

/// The number of an incarnation of the store. Revisions can be compared only within one
/// incarnation. The number is made of two arguments: `cluster`, etcd's cluster id, and `config`,
/// the ConfigFact::Incarnation of the group's config (0: no config). A restored backup may keep the
/// cluster id. But after a restore the group is recovered or created again, so its config has
/// another incarnation. The result is 0 only if `cluster` is 0.
std::uint64_t StoreIncarnationOf(std::uint64_t cluster, Revision config);

/// The feed's inputs. REQUIRES: they outlive the last call of the feed's methods. After Close,
/// timers don't use them.
struct RouteSource {
  Executor& executor;
  const Clock& clock;
  const core::View& view;
  std::function<ShardStatus(ShardId)> shard;  ///< the shard's status now, see ShardOf
  std::function<TimePoint()> proven_at;       ///< when the view was last proven to be current
  std::function<Duration()> stale_after;      ///< an older proof makes the routes stale
};

class RouteFeed : public std::enable_shared_from_this<RouteFeed> {
 public:
  /// The least time between two batches, except for a batch that a new observer causes.
  static constexpr Duration kEvery = std::chrono::milliseconds(5);
  /// The longest delay of a batch without routes.
  static constexpr Duration kProofWithin = std::chrono::milliseconds(500);

  /// REQUIRES: `group.shards` is the view's shard_count().
  RouteFeed(RouteSource source, RouteGroup group);

  /// Adds an observer. After Close, only calls the observer's OnRoutesEnded, before Add returns.
  /// REQUIRES: `observer` is not null; added once.
  void Add(std::shared_ptr<RouteObserver> observer);
  /// Call it after each step of the core or of the relay, with what the step changed in the view.
  void Note(const core::ViewChanges& changes);
  /// The shard changed for a reason that only this node knows: for example, it is activating or
  /// suspended now. REQUIRES (not checked): the shard is below `group.shards`.
  void Note(ShardId shard);
  /// Call it when the view's revision, or the time of its last proof, may have changed.
  void NoteProof();
  /// Sets the store's incarnation once it is known. Sends no batch: the next batch has the
  /// incarnation.
  void SetStoreIncarnation(std::uint64_t incarnation);
  /// Ends the feed: calls OnRoutesEnded of all observers with `why`, and releases the observers. No
  /// batch follows. Later calls of Note and NoteProof have no effect. A second Close does nothing.
  void Close(const Error& why);

 private:
  /// The facts about a member that routes depend on.
  struct Seen {
    std::string address;
    bool live = false;
    SessionId lease;
    friend bool operator==(const Seen&, const Seen&) = default;
  };

  void Mark(ShardId shard);
  void ArmForDirty();
  void NoteMember(const NodeId& node);
  void MarkThoseOfStandby(const NodeId& node);
  void ForgetMembers();
  void Arm(Duration delay);
  void Flush();
  void Look(ShardId shard, std::vector<ViewRoute>* changed);
  std::shared_ptr<const RouteNode> Intern(const NodeId& node, const std::string& address);
  std::shared_ptr<const std::vector<ViewStandby>> StandbysOf(const ShardStatus& status);
  RouteBatch Batch(std::vector<ViewRoute> routes) const;

  const RouteSource source_;
  std::shared_ptr<const RouteGroup> group_;
  std::vector<std::shared_ptr<RouteObserver>> observers_;
  std::vector<std::shared_ptr<RouteObserver>> fresh_;  ///< those that got no batch yet
  std::vector<ViewRoute> table_;     ///< the routes as last sent; empty before the first batch
  std::uint32_t with_standbys_ = 0;  ///< how many routes in table_ have standbys
  std::map<NodeId, std::shared_ptr<const RouteNode>> nodes_;
  std::map<NodeId, Seen> seen_;
  std::vector<ShardId> dirty_;
  std::vector<bool> dirty_flag_;
  Revision told_revision_;  ///< the view's at the last flush
  TimePoint told_proof_{};  ///< the view's last proof at the last flush
  TimePoint flushed_at_{};
  TimePoint due_ = TimePoint::max();
  std::optional<Error> closed_;
};

}  // namespace baton::runtime
