// MergedRoutes: a router's routes of a group, merged from the streams that the router read.
//
// A router reads one stream after another, possibly from different servers. A new server may know
// less than the last one, so a later route is not always a newer one. These rules decide (as in
// proto/baton/v1/routing.proto):
//   - Of two routes of a shard, the route with the greater revision wins. If the revisions are
//     equal, the route that arrived later wins. The shard gets the standbys of the winner.
//   - A route with a smaller revision can change only the state. The route must have the known term
//     and the known leader's node id. The old or the new state must be activating, suspended or
//     moving: these three states may end although the revision stays.
//   - When a stream's first message arrives, shards in these three states become led, because this
//     object may have missed the end of the state.
//   - If the first message says `anew`, or names another history of etcd (`cluster`), all routes
//     are forgotten.
//   - If the routes are not complete when a stream begins, the stream brings all routes. Its first
//     message makes this object forget the known revisions, so each route of the stream replaces
//     the known route.
//
// A false server may send a false route, maybe with a revision that etcd has not reached yet. By
// the rules above, no true route would replace such a route. A check is the remedy. It is a digest
// of all the server's routes, without states and revisions. The server sends one check on a stream
// that continued from revision(). Before the check, the server has proven that its own view is
// newer than all that this object has read from other servers.
//   - If the known routes have another digest, doubted() becomes true and complete() false. The
//     next stream reads all routes, and replaces all that are known.
//   - If the known routes have the same digest, revision() becomes the `complete_to` of the check's
//     message, and so may go back. Known revisions above `complete_to` are lowered to it.
//   - Two kinds of checks are ignored: a check in a stream that began with all routes, and a second
//     check in a stream. So no check makes a router read all routes twice in a row. (A first
//     message with `anew` can.)
// So a false route or revision lasts until the check of a true server.
//
// Apply first looks for errors in the whole message. A message with an error changes nothing. These
// are no errors:
//   - An address that IsUsable (leader_address.h) refuses: the node's address is then empty.
//   - More than kMaxStandbysKept standbys of a route: the first ones are kept.
//   - A state that this version does not know: it counts as led.
//
// Not thread-safe; no clock, no I/O. RouteStore serializes all calls with a mutex.
//
// Memory: each pair of a node's id and address is stored once, until this object's end, because
// tables point to the strings. A pair costs some 250 bytes; there are at most kMaxRouteNodes pairs.
// Once a route has standbys, the standbys cost some 24 bytes a shard and 8 bytes a standby.
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
  /// revision() is 0. The known routes stay. Without BeginStream, the first message of all counts
  /// as the first of a stream.
  v1::WatchRoutesRequest BeginStream();

  /// Merges one message. The texts of errors do not name the server. Errors:
  ///   - kInvalidArgument: the message is malformed, or has more routes than the group has shards;
  ///   - kInvalidArgument: the stream's first message names a hash function that this version does
  ///     not know, or has a shard count of 0 or above kMaxShards;
  ///   - kInvalidArgument: with the message's new nodes, more nodes would be stored than
  ///     kMaxRouteNodes, or than LimitNodes allows;
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
  /// Allows Apply to store up to `most` nodes, but never more than kMaxRouteNodes. Without this
  /// call, the limit is kMaxRouteNodes.
  void LimitNodes(std::size_t most) { most_nodes_ = std::min(most, kMaxRouteNodes); }

  /// Whether the first message of any stream was merged. From then on, the mapping of keys is
  /// known, and never changes.
  bool mapped() const { return !entries_.empty(); }
  /// REQUIRES for mapping, entry and changes (not checked): mapped(); the shard is below
  /// mapping().shards.
  KeyMapping mapping() const { return {static_cast<std::uint32_t>(entries_.size()), hash_}; }
  const RouteEntry& entry(ShardId shard) const { return entries_[shard.value]; }
  /// How often the shard's entry has changed, from 0. A forgotten route counts as a change; changes
  /// of standbys don't count.
  std::uint64_t changes(ShardId shard) const { return changes_[shard.value]; }

  /// Whether all routes have been read. If all routes are forgotten or doubted, complete() is false
  /// until the next snapshot ends.
  bool complete() const { return complete_to_ > 0; }
  /// The routes have all changes up to this revision; 0: not complete().
  Revision revision() const { return Revision{complete_to_}; }
  /// Whether the current stream's first message was merged.
  bool begun() const { return begun_; }
  /// Whether the current stream brings only the changes after revision(). False: the stream brings
  /// all routes, or has not begun.
  bool resumed() const { return resumed_; }
  /// Whether the current stream's check showed another digest. If so, close the stream, and call
  /// BeginStream. Open the next stream at the same server, which has just proven that its routes
  /// are current. The known routes stay until the next stream replaces them. BeginStream makes
  /// doubted() false; complete() stays false until the snapshot of the next stream ends.
  bool doubted() const { return doubted_; }

  /// REQUIRES (not checked): `index` is RouteEntry::leader of an entry, and not kNobodyLeads. The
  /// reference is valid until the next Apply. The texts in NodeEntry live as long as this object.
  const NodeEntry& node(std::uint32_t index) const { return nodes_[index]; }
  /// Returns a copy of the present routes, complete or not. Copying takes time in proportion to the
  /// number of shards. Any thread may read the copy. REQUIRES (not checked): mapped(); nobody uses
  /// the copy after this object's end, because the copy points to names in this object.
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
