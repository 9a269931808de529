// EventStreams: sends a history's events to callers that follow it by gRPC.
//
// Each stream is a cursor with at most one message in flight, of at most 1,000 events. If a slow
// reader misses events that the history no longer keeps, its next message has `reset`. If a caller
// does not take a message within `unread_for`, its stream is cut off: it ends with CANCELLED.
//
// One thread, started with the first stream, owns all streams. gRPC's threads and the node's loop
// only post to it.
//
// When the history is closed, each stream ends with UNAVAILABLE after the last events. A reader
// that has not read these within a second is cut off.
//
// Thread-safe. REQUIRES: the server is shut down before this object is destroyed, because streams
// use this object until then.
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

/// The most streams at once; further ones are refused with RESOURCE_EXHAUSTED.
inline constexpr std::size_t kMaxEventStreams = 64;
/// The most of these streams for one caller without the role kOperate, and for all such callers
/// together. So operators find room.
inline constexpr access::StreamPlaces::Bounds kEventPlaces{.of_caller = 16, .of_readers = 48};

/// The HTTP/2 pings that detect callers that vanished or hang. Without pings, the server would
/// never notice that the caller of an idle stream is gone. The stream of such a caller ends after
/// at most `every` plus `patience`.
struct CallerPings {
  std::chrono::milliseconds every{20'000};
  std::chrono::milliseconds patience{10'000};
};
/// Makes the server ping its callers. REQUIRES: the server is not built yet.
void PingCallers(grpc::ServerBuilder& builder, CallerPings pings = {});

class EventStreams {
 public:
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

  /// If `history` is null, every caller is refused with NOT_FOUND.
  explicit EventStreams(std::shared_ptr<const History> history,
                        Duration unread_for = std::chrono::minutes(1))
      : history_(std::move(history)), unread_for_(unread_for) {}
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  /// Makes a call that ends with this error at once. gRPC gets the reactor, which deletes itself.
  static Reactor* Refuse(const grpc::Status& why);
  /// Serves one caller, and keeps `place` until the stream ends. gRPC gets the reactor, which
  /// deletes itself. If the caller can't be served (no history, kMaxEventStreams, the host lacks
  /// threads, `bytes` are no v1::WatchEventsRequest), the reactor ends with an error at once.
  ///
  /// The first message comes at once, even without events. If the request has no `after`, the
  /// stream has only events from now on. If the request's `started` or `after` is not of this
  /// history, or the events after `after` are not kept any more, the stream begins with the oldest
  /// event, and its first message has `reset`. A stream of one shard gets a message without events
  /// from time to time, so that the caller knows how far it has got. If the group has no such
  /// shard, no event comes; that is no error.
  ///
  /// gRPC keeps `bytes` as long as the stream, within the server's memory (ServerLimits). A parsed
  /// request would count there for nothing, and may be 50 times as large.
  Reactor* Watch(grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes,
                 access::StreamPlaces::Place place = nullptr);

 private:
  class Stream;
  using StreamId = std::uint64_t;

  /// Posts a task to the thread. The number of waiting tasks is bounded: one for each event that
  /// gRPC reports of a stream, and streams are bounded.
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
  std::map<StreamId, Stream*> streams_;    // for the thread only: streams not asked to end
  History::WaitId waiting_ = 0;            // for the thread only
  TimePoint break_at_ = TimePoint::max();  // for the thread only: cuts off all readers at the end
  TimePoint look_at_ = TimePoint::max();   // for the thread only: at readers of unread messages

  std::mutex mutex_;  // guards what follows; never held while the history is asked
  std::condition_variable changed_;
  std::vector<std::function<void()>> tasks_;
  std::size_t open_ = 0;
  StreamId last_stream_ = 0;
  bool more_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
