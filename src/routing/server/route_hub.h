// RouteHub: the newest route of every shard, and the streams that follow the routes.
//
// Each batch of changes becomes a *delta*, which is encoded once for all streams. A stream is only
// a cursor: the number of the last delta that was sent to it. A *pass* sends routes from the table
// to one stream, page by page. A new stream first gets a pass as its snapshot. If the next delta of
// a stream is no longer kept, the stream gets a pass over the routes that later deltas have
// changed. Each stream has at most one message in flight. So a slow reader costs no more than a
// fast one. It misses states in between, but never the newest state.
//
// A stream that goes on after a revision gets one *check*: a digest of the whole table
// (routing/route_digest.h). The check shows the caller whether an earlier server sent it something
// false. The hub sends the check when all of these hold:
//   - The view was proven current after the request came.
//   - No route has a greater revision than the view. (After this server's own write, a route may
//     have a greater one for a moment.)
//   - All changes were sent to the stream, and no message of it is in flight.
//   - The digest of the present table is known, or the last digest was made at least kCheckEvery
//     ago. Otherwise the stream gets its check later. One digest serves all streams until the table
//     changes.
//
// Not thread-safe, and without a clock of its own. RouteServer calls the hub on the server's
// thread. The hub calls sinks only from Remove, End and Advance, and polls' answers only from
// Apply, End, Poll, EndPoll and Advance.
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

/// Gets a stream's messages. REQUIRES: the sink lives until End was called.
class RouteSink {
 public:
  virtual ~RouteSink() = default;
  std::uint64_t stream = 0;  ///< the stream's id; RouteServer::Watch sets it before any call
  /// Sends a message. Must not wait. RouteHub::Written must be called once for each message, after
  /// Write has returned.
  virtual void Write(const RouteMessage& message) = 0;
  /// Ends the stream, which the hub has already removed. Called once.
  virtual void End(const Error& why) = 0;
};

/// A request for a stream. The stream begins with a snapshot, which may have no routes. The
/// snapshot's first message has the opening (EncodeOpening). The snapshot's last message has
/// snapshot_end, and the hub's revision as complete_to, even if this is below `after`. If the
/// caller has routes of another incarnation, the snapshot has all routes, and its first message
/// says `anew`.
struct RouteRequest {
  std::string group{};  ///< empty: any
  /// The caller has all routes up to this revision; 0: none. The snapshot has the routes with a
  /// greater revision, and all routes that are activating, suspended or moving. It may have more.
  Revision after{};
  std::uint64_t incarnation = 0;  ///< RouteGroup::incarnation of the caller's routes; 0: no routes
  /// When the request came. A view that is proven current after this time is newer than all that
  /// the caller has read elsewhere, so the stream may get its check. max(): the stream gets no
  /// check. The stream also gets no check if `after` is 0, or if `incarnation` is not this group's.
  TimePoint came = TimePoint::max();
};

/// The answer to a lookup or a poll.
struct RouteList {
  std::shared_ptr<const runtime::RouteGroup> group;
  Revision revision;   ///< the view behind the list has all changes up to this revision
  Duration age{0};     ///< the time since the view was last proven current
  bool stale = false;  ///< the view is older than RouteBatch::stale_after
  std::vector<runtime::ViewRoute> routes;  ///< in the order of shards
  /// The answer has more than RoutePoll::most routes, so `routes` is empty.
  bool too_long = false;
};

/// A request that waits until a route changes.
struct RoutePoll {
  std::uint64_t id = 0;  ///< for EndPoll; 0: EndPoll is never used
  /// The answer has only routes with a greater revision. While a poll waits, it also gets routes
  /// that change at exactly this revision, because a leader on this node can change its state
  /// without a new revision. A poll that comes after that change misses it. Unset: all routes, at
  /// once.
  std::optional<Revision> after{};
  TimePoint deadline{};  ///< if no change comes before this time, the answer is an empty list
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
  std::uint64_t looked_at = 0;  ///< routes examined for polls, and for passes without shared pages
  std::uint64_t checks = 0;     ///< written to streams
  std::uint64_t tables_hashed = 0;  ///< for checks
};

class RouteHub {
 public:
  using StreamId = std::uint64_t;

  static constexpr std::uint32_t kPage = 10'000;  ///< the most routes in a message
  /// Routes in a block. A pass skips whole blocks without a relevant change, so it looks at few
  /// routes for a caller that knows nearly all of them.
  static constexpr std::uint32_t kBlock = 128;
  /// The most deltas that are kept, and the most bytes of their routes. The oldest deltas are
  /// dropped first. The newest delta is kept even if it alone has more bytes. A batch of more than
  /// kPage routes drops all kept deltas, and is not kept as a delta: passes send the changes. A
  /// batch that comes while there are no streams drops all kept deltas, too, and is not kept.
  static constexpr std::size_t kKeptDeltas = 64;
  static constexpr std::size_t kKeptBytes = 4 << 20;
  /// The bound for bytes of private pages, which were encoded for one stream, and are not sent yet.
  /// While it is reached, streams get shared pages, which have more routes than needed. Callers
  /// ignore routes that are older than their own.
  static constexpr std::size_t kPrivateBytes = 16 << 20;
  /// If Written is not called within this time after Write, because the caller does not read, the
  /// hub ends the stream with kUnavailable. It notices this up to kHeartbeat later. The caller may
  /// open another stream.
  static constexpr Duration kSlowReader = std::chrono::seconds(60);
  /// How often a stream that has got all changes gets a message with the view's age. It also gets
  /// this message when the view becomes stale, or current again.
  static constexpr Duration kHeartbeat = std::chrono::seconds(2);
  /// The least time from one digest of the table to the next. A digest takes some 25 ms for 100,000
  /// shards.
  static constexpr Duration kCheckEvery = std::chrono::milliseconds(500);

  /// Stores a batch of changes, and answers the polls that wait for one of them. Advance sends the
  /// batch to the streams. After End, Apply does nothing. REQUIRES (not checked): the first batch
  /// has the routes of all shards; all batches have the same number of shards, and their routes are
  /// in range, in the order of shards, each shard at most once.
  void Apply(const runtime::RouteBatch& batch, TimePoint now);
  /// Ends all streams and polls with `why`. Later streams, polls and lookups are refused with
  /// `why`. Only the first call counts.
  void End(const Error& why);

  /// Adds a stream. Advance sends its first message. After an error the sink is not called.
  /// kNotFound: the request names another group. kUnavailable: no routes were read yet. After End:
  /// the error of End. REQUIRES (not checked): `id` was never used; `request.after` is not
  /// negative.
  Status Add(StreamId id, RouteSink& sink, const RouteRequest& request);
  /// The stream's last message was sent. Advance may now send the next one. Ignores ids of streams
  /// that have ended.
  void Written(StreamId id);
  /// The caller is gone: removes the stream, and calls its sink's End with kUnavailable. Ignores
  /// ids of streams that have ended.
  void Remove(StreamId id);

  /// Answers the poll once: at once if there are routes to list, otherwise after the first change
  /// or at the deadline. If the deadline is not after `now`, the answer comes at once. Errors, also
  /// while the poll waits: kUnavailable: no routes were read yet, or EndPoll was called. After End:
  /// the error of End.
  void Poll(RoutePoll poll, TimePoint now);
  /// The caller is gone: if the poll still waits, answers it with kUnavailable.
  void EndPoll(std::uint64_t id);
  /// Returns one route, as the only element of `routes`. kNotFound: there is no such shard.
  /// kUnavailable: no routes were read yet. After End: the error of End.
  Result<RouteList> Lookup(ShardId shard, TimePoint now) const;
  /// Null before the first batch.
  const std::shared_ptr<const runtime::RouteGroup>& group() const { return group_; }
  /// Why no stream, poll or lookup is possible now: kUnavailable before the first batch, and the
  /// error of End after it. nullopt: they are possible.
  std::optional<Error> Trouble() const;
  /// The same for `group`; empty: any group. In addition, kNotFound: this is another group.
  std::optional<Error> Trouble(std::string_view group) const;

  /// Sends the messages that are due, and answers the polls whose deadline has passed. Returns when
  /// to call Advance again; TimePoint::max(): no time is known. REQUIRES: after calls of other
  /// methods, the thread calls Advance before it waits for new work. Sinks and answers don't call
  /// the hub.
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
  /// A summary of kBlock routes, by which a pass decides whether to skip them.
  struct Block {
    std::uint64_t delta = 0;           ///< the last delta that changed one of the routes
    Revision revision{};               ///< the greatest revision of the routes
    std::uint32_t may_end_unseen = 0;  ///< how many routes are activating, suspended or moving
  };
  /// One walk over the table for one stream.
  struct Pass {
    std::uint32_t position = 0;  ///< the next shard
    /// A snapshot has the routes with a greater revision, and those that may end unseen.
    Revision after{};
    std::uint64_t after_delta = 0;  ///< any other pass has the routes that a later delta changed
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
    TimePoint unchecked_since = TimePoint::max();  ///< max(): it needs no check any more
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
  /// Bytes of private pages that are not sent yet. The end of a page takes its bytes off.
  const std::shared_ptr<std::atomic<std::size_t>> private_bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  RouteHubCounts counts_;
};

}  // namespace baton::routing
