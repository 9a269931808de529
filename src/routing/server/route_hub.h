// RouteHub: the newest route of every shard, and the streams that follow the routes.
//
// Each batch of changes becomes a *delta*, which is encoded once for all streams. A stream is only
// a cursor: the number of the last delta that was sent to it. A *pass* sends routes from the table,
// page by page. A new stream first gets a pass as its snapshot. If the next delta of a stream is no
// longer kept, the stream gets a pass over the routes that later deltas have changed. Each stream
// has at most one message in flight. So a slow reader costs no more than a fast one: it misses
// intermediate states, but never the newest one.
//
// A stream that goes on after a revision gets a *check* once: a digest of the whole table
// (routing/route_digest.h). By it the caller finds out whether an earlier server told it something
// false. The stream gets it once all of this is so: the view was proven current after the request
// came; no route is newer than the view's revision (the server's own write makes one newer for a
// moment); all changes were sent to the stream; and its last message was sent. The table is hashed
// once for all streams that get a check before it changes, and at most once in kCheckEvery. A
// stream for which that is too early gets its check later.
//
// Not thread-safe, and without a clock of its own. RouteServer calls it on the server's thread. The
// hub calls sinks only from Remove, End and Advance, and polls' answers only from Apply, End, Poll,
// EndPoll and Advance.
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

/// Gets a stream's messages. REQUIRES: it lives until End was called.
class RouteSink {
 public:
  virtual ~RouteSink() = default;
  std::uint64_t stream = 0;  ///< the stream's id; RouteServer::Watch sets it before any call
  /// Sends a message. RouteHub::Written must be called once for it, after this returns.
  virtual void Write(const RouteMessage& message) = 0;
  /// Ends the stream. The hub has already removed it.
  virtual void End(const Error& why) = 0;
};

/// A request for a stream. If the caller has routes of another incarnation, the stream sends all
/// routes, and its first message says `anew`.
struct RouteRequest {
  std::string group{};            ///< empty: any
  Revision after{};               ///< the caller has all routes up to this revision; 0: none
  std::uint64_t incarnation = 0;  ///< RouteGroup::incarnation of the caller's routes; 0: no routes
  /// When the request came. If the view is proven current after this time, it is newer than all
  /// that the caller has read elsewhere, and the stream gets its check. max(): it gets none.
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
  /// Only routes that changed after this revision. While a poll waits, it also gets routes that
  /// change at this very revision: a leader on this node can change its state without a new one. A
  /// poll that comes later misses such a change. Unset: all routes, at once.
  std::optional<Revision> after{};
  TimePoint deadline{};  ///< without a change until then, the answer is an empty list
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
  std::uint64_t looked_at = 0;       ///< routes examined, for passes and polls
  std::uint64_t checks = 0;          ///< written to streams
  std::uint64_t tables_hashed = 0;   ///< for checks
};

class RouteHub {
 public:
  using StreamId = std::uint64_t;

  static constexpr std::uint32_t kPage = 10'000;  ///< routes in a message, at most
  /// Routes in a block. A pass skips whole blocks without a relevant change, so it looks at few
  /// routes for a caller that knows nearly all of them.
  static constexpr std::uint32_t kBlock = 128;
  /// The most deltas, and the most bytes of deltas, that are kept. The oldest are dropped first;
  /// the newest is kept even if it alone has more bytes.
  static constexpr std::size_t kKeptDeltas = 64;
  static constexpr std::size_t kKeptBytes = 4 << 20;
  /// Bytes of pages that were encoded for one stream and are not sent yet. Above this, streams get
  /// shared pages, which have more routes than needed. Callers ignore routes older than their own.
  static constexpr std::size_t kPrivateBytes = 16 << 20;
  /// A stream ends if its caller does not read a message within this time. The caller may open
  /// another one.
  static constexpr Duration kSlowReader = std::chrono::seconds(60);
  /// How often a stream without other messages gets the view's age. It also gets it when the view
  /// becomes stale, or current again.
  static constexpr Duration kHeartbeat = std::chrono::seconds(2);
  /// The least time from one hashing of the table to the next. One takes some 25 ms for 100,000
  /// shards.
  static constexpr Duration kCheckEvery = std::chrono::milliseconds(500);

  /// Stores a batch of changes, and answers the polls that the batch concerns. Advance sends the
  /// batch to the streams. After End it does nothing. REQUIRES: all batches have the same number of
  /// shards, and their routes are in range.
  void Apply(const runtime::RouteBatch& batch, TimePoint now);
  /// Ends all streams and polls with `why`; later ones are refused with `why`. Only the first call
  /// counts.
  void End(const Error& why);

  /// Adds a stream. After an error the sink is not called. kNotFound: the request names another
  /// group. kUnavailable: no routes were read yet. After End: the error of End. REQUIRES: `id` was
  /// never used.
  Status Add(StreamId id, RouteSink& sink, const RouteRequest& request);
  /// The stream's last message was sent, so the stream may get another one. Ignores ids of streams
  /// that have ended.
  void Written(StreamId id);
  /// The caller is gone: removes the stream, and calls its sink's End. Ignores ids of streams that
  /// have ended.
  void Remove(StreamId id);

  /// Answers once: at once if there are routes to list, otherwise after the first change or at the
  /// deadline. Errors: as for Add, without kNotFound.
  void Poll(RoutePoll poll, TimePoint now);
  /// The caller is gone: if the poll still waits, answers it with kUnavailable.
  void EndPoll(std::uint64_t id);
  /// Returns one route, as the only element of `routes`. kNotFound: there is no such shard.
  /// kUnavailable: as for Add.
  Result<RouteList> Lookup(ShardId shard, TimePoint now) const;
  /// Null before the first batch.
  const std::shared_ptr<const runtime::RouteGroup>& group() const { return group_; }
  /// Why no question can be answered now; nullopt: questions can be answered.
  std::optional<Error> Trouble() const;
  /// Why no question about `group` can be answered now. Empty: any group.
  std::optional<Error> Trouble(std::string_view group) const;

  /// Sends the messages that are due. Returns when to call Advance again. REQUIRES: after
  /// calls of other methods, it is called before the caller waits. Sinks and answers don't call the
  /// hub.
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
    std::uint32_t position = 0;     ///< the next shard
    Revision after{};               ///< only routes with a greater revision
    std::uint64_t after_delta = 0;  ///< only routes that a later delta changed
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
