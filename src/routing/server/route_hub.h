// RouteHub: keeps the newest route of every shard, and sends routes to streams that follow them.
//
// The hub encodes each batch of changes once for all streams. The result is a *delta*. A *pass*
// walks over the table of routes, and sends routes to one stream, page by page. A new stream first
// gets a pass as its snapshot. Later it gets the deltas. If its next delta is no longer kept, it
// gets a pass over all routes that have changed since its last delta. Each stream has at most one
// message in flight. A slow reader may miss earlier states of a route, but it gets the newest
// state.
//
// A stream that continues after a revision (RouteRequest::after) gets one *check*: a digest of the
// whole table (routing/route_digest.h). With the digest, the caller finds out whether an earlier
// server sent false routes. The hub sends the check once all of these conditions hold:
//   - The view was proven current after the request came.
//   - No route has a greater revision than the view. (For a moment after this server's own write, a
//     route has a greater revision.)
//   - All changes were sent to the stream, and no message of the stream is in flight.
//   - The digest of the present table is known, or no digest was made within the last kCheckEvery.
//     All streams use the same digest until the table changes.
//
// Not thread-safe: RouteServer makes all calls on the server's thread. The hub reads no clock:
// callers pass the time. The hub calls sinks only from Remove, End and Advance. It calls the
// answers of polls only from Apply, End, Poll, EndPoll and Advance.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"
#include "routing/server/route_messages.h"
#include "runtime/control.h"

namespace baton::routing {

/// Gets the messages of one stream. REQUIRES: the sink lives until its End was called.
class RouteSink {
 public:
  virtual ~RouteSink() = default;
  std::uint64_t stream = 0;  ///< the stream's id; RouteServer::Watch sets it before any call
  /// Sends a message. Must not wait. When the message was sent, call RouteHub::Written once, but
  /// not before Write has returned.
  virtual void Write(const RouteMessage& message) = 0;
  /// Ends the stream, which the hub has already removed. Called once.
  virtual void End(const Error& why) = 0;
};

/// A request for a stream. The stream begins with a snapshot, which may have no routes. The
/// snapshot's first message has the opening (EncodeOpening). Its last message has snapshot_end, and
/// the hub's revision as complete_to, even if that revision is below `after`. The caller has routes
/// if `after` or `incarnation` is not 0. If it has routes, and `incarnation` is not this group's,
/// the snapshot has all routes, and its first message says `anew`.
struct RouteRequest {
  std::string group{};  ///< empty: any
  /// The caller has all routes up to this revision; 0: it has no routes. The snapshot has the
  /// routes with a greater revision, and all routes that are activating, suspended or moving. It
  /// may have more routes.
  Revision after{};
  std::uint64_t incarnation = 0;  ///< RouteGroup::incarnation of the caller's routes; 0: no routes
  /// When the request came. A view that is proven current after this time is newer than all that
  /// the caller has read elsewhere. So from then on the stream may get its check. The stream never
  /// gets a check if `came` is max(), `after` is 0, or `incarnation` is not this group's.
  TimePoint came = TimePoint::max();
};

/// The answer to a lookup or a poll.
struct RouteList {
  std::shared_ptr<const runtime::RouteGroup> group;
  Revision revision;   ///< the view behind the list has all changes up to this revision
  Duration age{0};     ///< the time since the view was last proven current
  bool stale = false;  ///< the view is older than RouteBatch::stale_after
  std::vector<runtime::ViewRoute> routes;  ///< in the order of shards
  /// There are more than RoutePoll::most routes, so `routes` is empty.
  bool too_long = false;
};

/// A request that can wait until a route changes.
struct RoutePoll {
  std::uint64_t id = 0;  ///< for EndPoll; 0: EndPoll is never called
  /// The answer has the routes with a greater revision. A leader on this node can change a route's
  /// state without a new revision. So a waiting poll is also answered if a route changes at exactly
  /// this revision. A poll that comes after such a change misses it. Unset: the answer comes at
  /// once, with all routes.
  std::optional<Revision> after{};
  TimePoint deadline{};  ///< if no route changes before this time, the list is empty
  /// The most routes in the answer; see RouteList::too_long.
  std::size_t most = std::numeric_limits<std::size_t>::max();
  std::function<void(Result<RouteList>)> answer{};
};

/// Counts of this hub.
struct RouteHubCounts {
  std::uint64_t deltas_encoded = 0;
  std::uint64_t pages_encoded = 0;   ///< of snapshots and catch-up passes
  std::uint64_t messages = 0;        ///< written to streams
  std::uint64_t catch_ups = 0;       ///< passes for streams that fell behind
  std::uint64_t shared_instead = 0;  ///< pages shared because kPrivateBytes was used up
  std::uint64_t slow_readers = 0;    ///< streams that ended because their callers did not read
  std::uint64_t looked_at = 0;       ///< routes examined for polls and private pages
  std::uint64_t checks = 0;          ///< written to streams
  std::uint64_t tables_hashed = 0;   ///< digests made for checks
};

class RouteHub {
 public:
  using StreamId = std::uint64_t;

  static constexpr std::uint32_t kPage = 10'000;  ///< the most routes in a message
  /// The number of routes in a block. A pass skips each block that has no route for the stream.
  static constexpr std::uint32_t kBlock = 128;
  /// The most deltas that are kept, and the most bytes of their routes. The oldest deltas are
  /// dropped first. The newest delta is kept even if it alone has more bytes. A batch of more than
  /// kPage routes is not kept, and all kept deltas are dropped. The same is true for a batch that
  /// comes while there are no streams. Passes send the changes of these batches.
  static constexpr std::size_t kKeptDeltas = 64;
  static constexpr std::size_t kKeptBytes = 4 << 20;
  /// A private page was encoded for one stream only. If private pages that are not sent yet have
  /// this many bytes, passes send shared pages instead. A shared page has more routes than the
  /// stream needs. Callers ignore routes that are older than their own.
  static constexpr std::size_t kPrivateBytes = 16 << 20;
  /// If Written is not called within this time after Write, the hub ends the stream with
  /// kUnavailable, up to kHeartbeat later. Usually the caller does not read. It may open another
  /// stream.
  static constexpr Duration kSlowReader = std::chrono::seconds(60);
  /// A stream that has got all changes gets a message with the view's age this often. It also gets
  /// this message when the view becomes stale, or current again.
  static constexpr Duration kHeartbeat = std::chrono::seconds(2);
  /// The least time between two digests of the table. For 100,000 shards, a digest takes about 25
  /// ms.
  static constexpr Duration kCheckEvery = std::chrono::milliseconds(500);

  /// Stores a batch of changes, and answers the polls that wait for one of them. Advance sends the
  /// batch to the streams. After End, Apply does nothing. REQUIRES (not checked): the first batch
  /// has the routes of all shards. All batches have the same number of shards. The routes of a
  /// batch are in range, in the order of shards, and each shard is there at most once.
  void Apply(const runtime::RouteBatch& batch, TimePoint now);
  /// Ends all streams and polls with `why`. Refuses later streams, polls and lookups with `why`. A
  /// second call does nothing.
  void End(const Error& why);

  /// Adds a stream. Advance sends the stream's first message. If Add returns an error, the hub
  /// never calls the sink. kNotFound: the request names another group. kUnavailable: the hub has no
  /// routes yet. After End: the error of End. REQUIRES (not checked): `id` was never used;
  /// `request.after` is not negative.
  Status Add(StreamId id, RouteSink& sink, const RouteRequest& request);
  /// The stream's last message was sent. Advance may now send the next one. Ignores ids of streams
  /// that have ended.
  void Written(StreamId id);
  /// The caller is gone: removes the stream, and calls its sink's End with kUnavailable. Ignores
  /// ids of streams that have ended.
  void Remove(StreamId id);

  /// Calls `poll.answer` once: at once if there are routes to list, otherwise at the first change
  /// or at the deadline. If the deadline is not after `now`, answers at once. kUnavailable: the hub
  /// has no routes yet, or EndPoll ended the poll. After End, also for a poll that waits: the error
  /// of End.
  void Poll(RoutePoll poll, TimePoint now);
  /// The caller is gone: if the poll still waits, answers it with kUnavailable.
  void EndPoll(std::uint64_t id);
  /// Returns one route, as the only element of `routes`. kNotFound: there is no such shard.
  /// kUnavailable: the hub has no routes yet. After End: the error of End.
  Result<RouteList> Lookup(ShardId shard, TimePoint now) const;
  /// The group of the routes; null before the first batch.
  const std::shared_ptr<const runtime::RouteGroup>& group() const { return group_; }
  /// Why the hub refuses all streams, polls and lookups now. Before the first batch: kUnavailable.
  /// After End: the error of End. nullopt: the hub accepts them.
  std::optional<Error> Trouble() const;
  /// Why the hub refuses requests for `group`: as above, or kNotFound if this is another group. An
  /// empty `group` means any group.
  std::optional<Error> Trouble(std::string_view group) const;

  /// Sends the messages that are due, and answers the polls whose deadline has passed. Returns when
  /// to call Advance again, at the latest; TimePoint::max(): not before another method is called.
  /// REQUIRES: after calls of other methods, the thread calls Advance before it waits for new work.
  /// Sinks and answers don't call the hub.
  TimePoint Advance(TimePoint now);

  const RouteHubCounts& counts() const { return counts_; }
  std::size_t streams() const { return streams_.size(); }

 private:
  struct Entry {
    runtime::ViewRoute route;
    std::uint64_t delta = 0;  ///< the last delta that changed the route
  };
  struct Delta {
    std::uint64_t number = 0;
    Bytes routes;
    Bytes words;
  };
  /// An encoded page of the table; valid until one of its routes changes.
  struct Page {
    Bytes bytes;
    std::uint64_t delta = 0;  ///< the page contains all changes up to this delta
    Revision least;           ///< the least revision of its routes
  };
  /// A summary of kBlock routes. A pass reads it to decide whether to skip these routes.
  struct Block {
    std::uint64_t delta = 0;           ///< the last delta that changed one of the routes
    Revision revision{};               ///< the greatest revision of the routes
    std::uint32_t may_end_unseen = 0;  ///< how many routes are activating, suspended or moving
  };
  /// One walk over the table for one stream.
  struct Pass {
    std::uint32_t position = 0;  ///< the next shard
    /// A snapshot has the routes with a greater revision, and all that are activating, suspended or
    /// moving.
    Revision after{};
    std::uint64_t after_delta = 0;  ///< other passes: has the routes that a later delta changed
    std::uint64_t begun_at = 0;     ///< the pass includes all deltas up to this one
    Revision complete_to{};         ///< after the pass, the stream is complete up to this revision
    bool snapshot = true;
  };
  struct Stream {
    RouteSink* sink = nullptr;
    bool writing = false;
    TimePoint writing_since{};
    Bytes opening;  ///< null once it was sent
    std::optional<Pass> pass{};
    std::uint64_t delta = 0;  ///< the last delta that was sent; unused during a pass
    TimePoint unchecked_since = TimePoint::max();  ///< max(): the stream needs no check
  };

  void Store(const runtime::RouteBatch& batch);
  void Keep(const runtime::RouteBatch& batch, TimePoint now);
  void Serve(Stream& stream, TimePoint now);
  void ReadyUnchecked();
  bool MayCheck(const Stream& stream, TimePoint now) const;
  void SendCheck(Stream& stream, TimePoint now);
  void Send(Stream& stream, RouteMessage message, TimePoint now);
  void SendPass(Stream& stream, TimePoint now);
  Bytes NextPage(Pass& pass);
  Bytes SharedPage(const Pass& pass);
  Bytes WholePage(std::size_t index);
  Bytes PrivatePage(const std::vector<const runtime::ViewRoute*>& routes);
  bool InPass(const Entry& entry, const Pass& pass) const;
  bool MayHave(const Pass& pass) const;
  void Beat(TimePoint now);
  void EndSlowReaders(TimePoint now);
  void AnswerPolls(const runtime::RouteBatch& batch, TimePoint now);
  void ExpirePolls(TimePoint now);
  RouteList ListFor(const RoutePoll& poll, TimePoint now);
  RouteList EmptyList(TimePoint now) const;
  ViewWords Words(TimePoint now) const;
  bool Stale(TimePoint now) const { return now - proven_at_ > stale_after_; }

  std::shared_ptr<const runtime::RouteGroup> group_;
  std::optional<Error> ended_;
  std::vector<Entry> table_;
  std::vector<Block> blocks_;
  std::vector<Page> pages_;
  std::vector<std::uint64_t> page_changed_;  ///< by page: the last delta that changed it
  std::deque<Delta> deltas_;                 ///< consecutive numbers, oldest first
  std::size_t delta_bytes_ = 0;
  std::uint64_t last_delta_ = 0;
  Revision revision_;
  TimePoint proven_at_{};
  Duration stale_after_{};
  bool told_stale_ = false;  ///< whether the view was stale at the last Beat
  TimePoint beat_at_{};
  std::map<StreamId, Stream> streams_;
  std::vector<StreamId> ready_;  ///< streams that may have something to send
  bool all_ready_ = false;
  std::string check_;                ///< the table's digest; empty: not known
  std::uint64_t checked_delta_ = 0;  ///< the last delta in check_
  TimePoint check_made_at_ = TimePoint::min();
  Revision newest_;                            ///< the greatest revision of a route
  std::multimap<TimePoint, RoutePoll> polls_;  ///< by deadline
  /// The bytes of private pages that are not sent yet. When a page is destroyed, its bytes are
  /// subtracted.
  const std::shared_ptr<std::atomic<std::size_t>> private_bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  RouteHubCounts counts_;
};

}  // namespace baton::routing
