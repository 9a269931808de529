// EventStreams: sends the events of a History to callers over gRPC.
//
// A stream has at most one message in flight, of at most 1,000 events. If a slow reader misses
// events that the history no longer keeps, its next message has `reset`. If a caller does not take
// a message within `unread_for`, its stream is cut off: the stream ends with CANCELLED.
//
// When the history is closed because the node stops, each stream ends with UNAVAILABLE after the
// last events. If a caller does not take the last events within a second, its stream is cut off.
//
// The first stream starts the one thread that serves all streams. Calls never wait for this thread.
// Thread-safe, except for the destructor. REQUIRES: the server is shut down before this object is
// destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "access/stream_places.h"
#include "base/clock.h"
#include "runtime/history.h"

namespace baton::runtime {

/// The most streams at once. Further streams are refused with RESOURCE_EXHAUSTED.
inline constexpr std::size_t kMaxEventStreams = 64;
/// The most of these streams for one caller without the role kOperate, and for all callers without
/// this role together. So operators find room. The admin service enforces these bounds before it
/// calls Watch; EventStreams does not.
inline constexpr access::StreamPlaces::Bounds kEventPlaces{.of_caller = 16, .of_readers = 48};

/// The HTTP/2 pings that detect callers that vanished or hang. The streams of such a caller end
/// after at most `every` plus `patience`. Without pings, an idle stream would never end.
struct CallerPings {
  std::chrono::milliseconds every{20'000};
  std::chrono::milliseconds patience{10'000};
};
/// Makes the server ping its callers. REQUIRES: the server is not built yet.
void PingCallers(grpc::ServerBuilder& builder, CallerPings pings = {});

class EventStreams {
 public:
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

  /// If `history` is null, Watch refuses every caller. `unread_for`: how long a caller may leave a
  /// message unread.
  explicit EventStreams(std::shared_ptr<const History> history,
                        Duration unread_for = std::chrono::minutes(1))
      : history_(std::move(history)), unread_for_(unread_for) {}
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  /// Returns a reactor that ends its call with this error at once. Pass the reactor to gRPC. The
  /// reactor deletes itself.
  static Reactor* Refuse(const grpc::Status& why);
  /// Returns a reactor that serves one caller. Pass the reactor to gRPC. The reactor deletes
  /// itself, and keeps `place` until then. It ends the call at once with an error, in these cases:
  ///  - INVALID_ARGUMENT: `bytes` are not a v1::WatchEventsRequest.
  ///  - NOT_FOUND: there is no history.
  ///  - RESOURCE_EXHAUSTED: there are kMaxEventStreams streams already, or the host lacks threads.
  ///
  /// The first message comes at once, even without events. If the request has no `after`, the
  /// stream has only events that come later. Otherwise it has the events with a number above
  /// `after`. In three cases the stream begins with the oldest event that is kept, and its first
  /// message has `reset`:
  ///  - `started` is set, and is not HistoryPage::started of this history.
  ///  - `after` is greater than the number of the newest event.
  ///  - The first events after `after` are not kept any more.
  /// A number of an earlier process may exist in this history, too. So also set `started`.
  ///
  /// A stream of one shard gets a message without events after each 500 events of other shards. So
  /// the caller knows from where to continue. If the group does not have the shard, no event comes,
  /// and there is no error.
  ///
  /// `bytes`: the request, not parsed. gRPC keeps these bytes as long as the stream, and counts
  /// them against the server's memory (ServerLimits).
  Reactor* Watch(grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes,
                 access::StreamPlaces::Place place = nullptr);

 private:
  class Stream;
  using StreamId = std::uint64_t;

  /// Posts a task to the thread. Waiting tasks are bounded: streams are bounded, and each has only
  /// a few tasks at a time.
  void Post(std::function<void()> task);
  bool StartThread();
  void Ended();
  void Run();
  // These run on the thread.
  void Advance();
  void CutOffReaders(TimePoint now);
  void AwaitMore();
  void Remove(StreamId id, const grpc::Status& why);

  const std::shared_ptr<const History> history_;
  const Duration unread_for_;
  // Only the thread uses the next four.
  std::map<StreamId, Stream*> streams_;    // without those that were asked to end
  History::WaitId waiting_ = 0;            // the wait for the next event
  TimePoint break_at_ = TimePoint::max();  // when to cut off all readers of a closed history
  TimePoint look_at_ = TimePoint::max();   // when to look again for unread messages

  std::mutex mutex_;  // guards what follows; not held while the history is read
  std::condition_variable changed_;
  std::vector<std::function<void()>> tasks_;
  std::size_t open_ = 0;
  StreamId last_stream_ = 0;
  bool more_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
