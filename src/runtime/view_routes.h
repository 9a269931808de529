// The routes of a view, and who observes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "baton/export.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton::runtime {

/// A node that leads shards, or stands by for them. All routes of one view that name the node share
/// one object.
struct RouteNode {
  NodeId node;
  std::string address;  ///< the node's service address
};

/// A node that stands by for a shard.
struct ViewStandby {
  std::shared_ptr<const RouteNode> node;  ///< never null
  bool ready = false;                     ///< its application says that it could take over at once
  friend bool operator==(const ViewStandby&, const ViewStandby&) = default;
};

/// A shard's route as one view has it. Servers keep and send these routes. A Router turns the
/// routes that it receives into Route (baton/routes.h). Several threads may use the nodes of a
/// ViewRoute: when a member's address changes, later routes get another RouteNode, and the old
/// RouteNode never changes.
struct ViewRoute {
  ShardId shard;
  std::shared_ptr<const RouteNode> leader;  ///< null: nobody leads
  Term term;                                ///< 0 if nobody leads
  ShardState state = ShardState::kLeaderless;
  /// The etcd revision from which the route is known. It never decreases. In every view, a change
  /// made at revision r gives the route a revision of at least r. So a caller that knows all routes
  /// up to revision r needs only routes with greater revisions. But a leader can enter and leave
  /// the states activating and suspended without a new revision.
  Revision revision;
  /// The nodes that stand by, in the order in which they would take over. Null: no node stands by.
  std::shared_ptr<const std::vector<ViewStandby>> standbys{};
};

/// Describes the group, and the server of its routes. Only `incarnation` can change.
struct RouteGroup {
  std::string group;
  std::string server;  ///< the name of the node or relay
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  std::uint64_t incarnation = 0;  ///< compare revisions only within one: StoreIncarnationOf
};

struct RouteBatch {
  std::shared_ptr<const RouteGroup> group;  ///< never null
  std::vector<ViewRoute> routes;  ///< each changed shard once; in the first batch, all shards
  Revision revision;  ///< with this batch, the observer's routes are complete up to this revision
  TimePoint proven_at{};   ///< when the view was last proven to be current
  Duration stale_after{};  ///< if the proof is older than this, the view counts as stale
};

/// Observes a view's routes. The node calls the methods on its loop, in order. So they must be
/// quick, and must not throw. RouteFeed says when a batch comes, and which routes the batch has.
class BATON_EXPORT RouteObserver {
 public:
  virtual ~RouteObserver() = default;
  virtual void OnRoutes(const RouteBatch& batch) = 0;
  /// No batch follows, because the node or relay stops or has halted. Called at most once. If the
  /// node had stopped before AddRouteObserver, the call comes on the caller's thread.
  virtual void OnRoutesEnded(const Error& why) = 0;
};

}  // namespace baton::runtime
