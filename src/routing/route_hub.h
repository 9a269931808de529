// RouteHub: the newest route of every shard, and the streams that follow them.
//
// A stream is a cursor. It reads either one pass over the table (its snapshot, or what it missed
// where it fell behind the last kKeptDeltas) or the deltas after it, each of which is encoded once
// for all. At most one message a stream is under way, so a slow reader costs the same as a fast
// one: it finds the newest state when it comes back, not what it missed.
//
// Single-threaded, without a clock of its own: RouteServer drives it, tests do so on their own
// time. Streams are told by RouteSink, always from Add, Written or Advance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"
#include "routing/route_messages.h"
#include "runtime/control.h"

namespace baton::routing {

/// A stream's way out. Outlives its place in the hub.
class RouteSink {
 public:
  virtual ~RouteSink() = default;
  std::uint64_t stream = 0;  ///< its id; RouteServer::Watch sets it before anything is called
  /// Sends a message; RouteHub::Written follows once, later.
  virtual void Write(const RouteMessage& message) = 0;
  /// Ends the stream; the hub has forgotten it.
  virtual void End(const Error& why) = 0;
};

struct RouteRequest {
  std::string group{};  ///< empty: whichever this is
  Revision after{};     ///< all routes up to it are known to the caller; 0: none
  std::uint64_t cluster = 0;
};

/// Routes as one answer.
struct RouteList {
  std::shared_ptr<const runtime::RouteGroup> group;
  Revision revision;  ///< complete up to here
  Duration age{0};
  bool stale = false;
  std::vector<runtime::Route> routes;  ///< by shard
};

/// A question that waits for a change.
struct RoutePoll {
  std::uint64_t id = 0;             ///< to end it by; 0: never ended
  std::optional<Revision> after{};  ///< unset: all routes, at once
  TimePoint deadline{};             ///< then an empty list is the answer
  std::function<void(Result<RouteList>)> answer{};
};

/// Counts since the start.
struct RouteHubCounts {
  std::uint64_t deltas_encoded = 0;
  std::uint64_t pages_encoded = 0;  ///< of snapshots, and of what streams that fell behind missed
  std::uint64_t messages = 0;       ///< written to streams
  std::uint64_t catch_ups = 0;      ///< passes for streams that fell behind
  std::uint64_t looked_at = 0;      ///< routes, to answer what asks for those after a revision
};

class RouteHub {
 public:
  using StreamId = std::uint64_t;

  static constexpr std::uint32_t kPage = 10'000;  ///< routes a message
  /// What nothing changed in is passed over by so many routes at once, so that a caller who knows
  /// nearly all costs a look at its changes and a few hundred blocks, not at 100,000 routes.
  static constexpr std::uint32_t kBlock = 128;
  static constexpr std::size_t kKeptDeltas = 64;
  static constexpr std::size_t kKeptBytes = 4 << 20;
  static constexpr Duration kHeartbeat = std::chrono::seconds(2);

  /// Takes a view's batch; streams hear of it in Advance.
  void Apply(const runtime::RouteBatch& batch, TimePoint now);
  /// Ends all streams and polls; who comes later is refused with `why`.
  void End(const Error& why);

  /// kNotFound: another group. kUnavailable: nothing was read yet, or it has ended. `id` is new.
  Status Add(StreamId id, RouteSink& sink, const RouteRequest& request);
  /// The stream's message was sent; it may have another.
  void Written(StreamId id);
  /// The caller has gone.
  void Remove(StreamId id);

  /// All routes, or those after a revision, now or once there are any.
  void Poll(RoutePoll poll, TimePoint now);
  /// Who asked has gone: the poll is answered (kUnavailable), if it still waits.
  void EndPoll(std::uint64_t id);
  /// One route; `routes` has exactly that. kNotFound: no such shard. kUnavailable as Add.
  Result<RouteList> Lookup(ShardId shard, TimePoint now) const;
  /// Null: nothing was read yet.
  const std::shared_ptr<const runtime::RouteGroup>& group() const { return group_; }
  /// Unset: answers can be given.
  std::optional<Error> Trouble() const;
  /// The same for a question that names its group; empty: whichever this is.
  std::optional<Error> Trouble(std::string_view group) const;

  /// Writes what is due. The time of the next call, if nothing comes before.
  TimePoint Advance(TimePoint now);

  const RouteHubCounts& counts() const { return counts_; }
  std::size_t streams() const { return streams_.size(); }

 private:
  struct Entry {
    runtime::Route route;
    std::uint64_t delta = 0;  ///< that changed it last
  };
  struct Delta {
    std::uint64_t number = 0;
    Bytes routes;
    Bytes words;
  };
  /// A page of the table, encoded; good while none of its routes changed.
  struct Page {
    Bytes bytes;
    std::uint64_t delta = 0;  ///< encoded after this one
    Revision least;           ///< of its routes' revisions
  };
  /// What a block of routes can hold at most.
  struct Block {
    std::uint64_t delta = 0;            ///< that changed it last
    Revision revision{};                ///< no route in it has a later one
    std::uint32_t only_known_here = 0;  ///< so many are
  };
  /// A walk over the table for one stream.
  struct Pass {
    std::uint32_t position = 0;     ///< next shard
    Revision after{};               ///< only routes later than this
    std::uint64_t after_delta = 0;  ///< only routes changed by later deltas
    std::uint64_t begun_at = 0;     ///< deltas up to here are in it
    Revision complete_to{};         ///< once it is over
    bool snapshot = true;
  };
  struct Stream {
    RouteSink* sink = nullptr;
    bool writing = false;
    Bytes opening;  ///< until it was sent
    std::optional<Pass> pass{};
    std::uint64_t delta = 0;  ///< all up to here have been sent; without a pass
  };

  void Store(const runtime::RouteBatch& batch);
  void Keep(const runtime::RouteBatch& batch, TimePoint now);
  void Serve(Stream& stream, TimePoint now);
  void Send(Stream& stream, RouteMessage message);
  void SendPass(Stream& stream, TimePoint now);
  Bytes NextPage(Pass& pass);
  Bytes SharedPage(const Pass& pass);
  bool InPass(const Entry& entry, const Pass& pass) const;
  bool MayHave(const Block& block, const Pass& pass) const;
  void Beat(TimePoint now);
  void AnswerPolls(const runtime::RouteBatch& batch, TimePoint now);
  void ExpirePolls(TimePoint now);
  RouteList ListAfter(std::optional<Revision> after, TimePoint now);
  RouteList EmptyList(TimePoint now) const;
  ViewWords Words(TimePoint now) const;
  bool Stale(TimePoint now) const { return now - proven_at_ > stale_after_; }

  std::shared_ptr<const runtime::RouteGroup> group_;
  std::optional<Error> ended_;
  std::vector<Entry> table_;
  std::vector<Block> blocks_;
  std::vector<Page> pages_;
  std::vector<std::uint64_t> page_changed_;  ///< by page: the last delta that changed it
  std::deque<Delta> deltas_;                 ///< without a gap, oldest first
  std::size_t delta_bytes_ = 0;
  std::uint64_t last_delta_ = 0;
  Revision revision_;
  TimePoint proven_at_{};
  Duration stale_after_{};
  bool told_stale_ = false;
  TimePoint beat_at_{};
  std::map<StreamId, Stream> streams_;
  std::vector<StreamId> ready_;  ///< may have something to be sent
  bool all_ready_ = false;
  std::multimap<TimePoint, RoutePoll> polls_;  ///< by deadline
  RouteHubCounts counts_;
};

}  // namespace baton::routing
