// MergedRoutes: a router's routes of a group, merged from the streams that the router read.
//
// A router reads one stream after another, possibly from different servers. A new server may know
// less or more than the last one, so the order of arrival is not enough. Rules for one shard (as in
// proto/baton/v1/routing.proto):
//   - Of two routes, the route with the greater revision wins. If the revisions are equal, the
//     route that arrived later wins. The standbys are those of the route that wins.
//   - A route with a smaller revision can change only the state. It does so if it has the known
//     term and the known leader's node id, and if the old or the new state is activating, suspended
//     or moving. These three states may end although the route's revision stays.
//   - When a stream's first message arrives, shards that are activating, suspended or moving become
//     led, because this object may have missed the end of that state.
//   - If the first message says `anew`, or names another history of etcd (`cluster`), all routes
//     are forgotten.
//   - If the routes are not complete when a stream begins, the stream brings all routes. At its
//     first message the known revisions are forgotten, so each route of the stream replaces the
//     known route.
//
// A server may lie about a route. It may also name a revision that etcd has not reached yet. By the
// rules above, no true route would replace a route with such a revision. The remedy is a check. On
// a stream that continued from revision(), the server sends one check: a digest of all its routes
// without their states and revisions. It sends the check after it has proven that its view is newer
// than all that this object has read from other servers.
//   - If the known routes have another digest, doubted() becomes true and complete() false. The
//     next stream reads all routes, and replaces all that are known.
//   - If they have the same digest, known revisions above `complete_to` of the check's message are
//     lowered to `complete_to`. revision() becomes `complete_to`, so it may go back.
//   - In a stream that began with all routes, a check is ignored. A second check in a stream is
//     ignored, too. So no check makes a router read all routes twice in a row. (A first message
//     with `anew` can.)
// So a false route lasts until the check of a true server, and so does a false revision.
//
// Apply first looks for errors in the whole message. A message with an error changes nothing. These
// are no errors:
//   - An address that IsUsable (leader_address.h) refuses: the node's address is then empty.
//   - More than kMaxStandbysKept standbys of a route: the first ones are kept.
//   - A state that this version does not know: it counts as led.
//
// Not thread-safe; no clock, no I/O. The caller serializes all calls; RouteStore does so with a
// mutex.
//
// Memory: each pair of a node's id and address is stored once. It is never freed or moved while
// this object lives, because tables point to its strings. A pair costs some 250 bytes; there are at
// most kMaxRouteNodes. Standbys cost nothing until a route has some. Then they cost some 24 bytes a
// shard and 8 bytes a standby.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "baton/result.h"
#include "baton/v1/routing.pb.h"
#include "routing/client/route_table.h"
#include "routing/leader_address.h"
#include "routing/route_digest.h"

namespace baton::routing {

/// The most nodes (pairs of node id and address) that one object stores. Apply refuses more; only a
/// new object can then continue.
inline constexpr std::size_t kMaxRouteNodes = 1'000'000;

/// Starts empty: mapped() and complete() are false.
class MergedRoutes {
 public:
  explicit MergedRoutes(std::string group,
                        LeaderAddresses addresses = LeaderAddresses::kHostsAndPorts)
      : group_(std::move(group)), addresses_(addresses) {}

  /// Begins a new stream: the next message passed to Apply is the stream's first. Returns the
  /// request to send. The request asks for the changes after revision(), or for all routes if
  /// revision() is 0. The known routes stay. If BeginStream was never called, the first message
  /// that Apply gets is the first of a stream.
  v1::WatchRoutesRequest BeginStream();

  /// Merges one message. Errors, whose texts do not name the sender:
  ///   - kInvalidArgument: the message is malformed, or has more routes than the group has shards;
  ///   - kInvalidArgument: the stream's first message maps keys in a way that this version does not
  ///     know, with 0 shards, or with more than kMaxShards;
  ///   - kInvalidArgument: more nodes would be stored than kMaxRouteNodes, or than LimitNodes
  ///     allows. Nodes in the message that are stored already don't count;
  ///   - kNotFound: the stream's first message names another group;
  ///   - kFailedPrecondition: the stream's first message maps keys differently from the routes
  ///     known so far. This is an error even if the message says `anew`. Only a new object can read
  ///     such routes.
  ///
  /// After an error, close the stream. The object stays usable: call BeginStream for the next
  /// stream.
  Status Apply(const v1::WatchRoutesResponse& message);

  /// How many nodes (pairs of node id and address) are stored.
  std::size_t nodes() const { return names_.size(); }
  /// Allows Apply to store up to `most` nodes, but never more than kMaxRouteNodes. Without a call,
  /// only kMaxRouteNodes counts.
  void LimitNodes(std::size_t most) { most_nodes_ = std::min(most, kMaxRouteNodes); }

  /// Whether the first message of any stream was merged. From then on, the mapping of keys is
  /// known, and never changes.
  bool mapped() const { return !entries_.empty(); }
  /// REQUIRES, for mapping, entry and changes: mapped(); the shard is below mapping().shards. Not
  /// checked.
  KeyMapping mapping() const { return {static_cast<std::uint32_t>(entries_.size()), hash_}; }
  const RouteEntry& entry(ShardId shard) const { return entries_[shard.value]; }
  /// How often the shard's entry has changed, from 0. A forgotten route counts as a change; changes
  /// of standbys don't count. A caller that waits for a change compares this count with an earlier
  /// one.
  std::uint64_t changes(ShardId shard) const { return changes_[shard.value]; }

  /// Whether all routes have been read. When all routes are forgotten or doubted, it becomes false
  /// again, until the next snapshot ends.
  bool complete() const { return complete_to_ > 0; }
  /// The routes have all changes up to this revision; 0: not complete().
  Revision revision() const { return Revision{complete_to_}; }
  /// Whether the current stream's first message was merged.
  bool begun() const { return begun_; }
  /// Whether the current stream brings only the changes after revision(). False: it brings all
  /// routes, or has not begun.
  bool resumed() const { return resumed_; }
  /// Whether the first check of the current stream showed another digest. Then close the stream,
  /// call BeginStream, and open the next stream at the same server, because this server has just
  /// proven that its routes are current. The known routes stay until the next stream replaces them.
  /// complete() is false until the snapshot of that stream ends. BeginStream sets it back to false.
  bool doubted() const { return doubted_; }

  /// REQUIRES: `index` is RouteEntry::leader of an entry, and not kNobodyLeads; not checked. The
  /// reference is valid until the next Apply. The names that it points to live as long as this
  /// object.
  const NodeEntry& node(std::uint32_t index) const { return nodes_[index]; }
  /// Returns a copy of the present routes, complete or not. Any thread may read the copy. Making it
  /// costs time in proportion to the number of shards. REQUIRES: mapped(); this object outlives the
  /// use of the copy, which points to names in this object.
  std::shared_ptr<const RouteTable> Table();

 private:
  Status CheckFirst(const v1::WatchRoutesResponse& message) const;
  Status CheckRoutes(const v1::WatchRoutesResponse& message) const;
  void TakeFirst(const v1::WatchRoutesResponse& message);
  void TakeCheck(const v1::WatchRoutesResponse& message);
  std::string Digest() const;
  void Take(const v1::Route& route, const std::vector<std::uint32_t>& nodes);
  void TakeState(const v1::Route& route, const std::vector<std::uint32_t>& nodes);
  void TakeStandbys(const v1::Route& route, const std::vector<std::uint32_t>& nodes);
  Status CheckNodes(const v1::WatchRoutesResponse& message) const;
  std::uint32_t Intern(const v1::RouteNode& node);
  void Set(std::size_t shard, const RouteEntry& entry);

  const std::string group_;
  const LeaderAddresses addresses_;
  HashFunction hash_ = HashFunction::kMurmur2;
  std::uint64_t incarnation_ = 0;
  std::int64_t complete_to_ = 0;
  bool begun_ = false;
  bool resumed_ = false;
  bool checked_ = false;  ///< the current stream's check came
  bool doubted_ = false;

  // By shard.
  std::vector<RouteEntry> entries_;
  std::vector<std::int64_t> revisions_;
  std::vector<std::uint64_t> changes_;

  std::vector<std::vector<StandbyEntry>> standbys_;         // by shard; empty: no route had any yet
  std::shared_ptr<const StandbyLists> published_standbys_;  // null: rebuilt for the next table

  // Names and DigestedAddresses. The strings stay at the same address. published_nodes_ is rebuilt
  // when a node is added.
  std::size_t most_nodes_ = kMaxRouteNodes;
  std::deque<std::pair<std::string, std::string>> names_;
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<NodeEntry> nodes_;
  std::shared_ptr<const std::vector<NodeEntry>> published_nodes_;
};

}  // namespace baton::routing
