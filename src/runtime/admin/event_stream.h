// EventStreams: sends a history's events to callers that follow it by gRPC.
//
// Each stream is a cursor with at most one message in flight, of at most 1,000 events. If a slow
// reader misses events that the history no longer keeps, its next message has `reset`. If a caller
// does not take a message within `unread_for`, the stream is cut off: it ends with CANCELLED.
//
// One thread owns all streams. The first stream starts this thread. gRPC's threads and the node's
// loop only post to it.
//
// When the history is closed (the node stops), each stream ends with UNAVAILABLE after the last
// events. If a reader has not read the last events within a second, its stream is cut off.
//
// Thread-safe, except for the destructor. REQUIRES: the server is shut down before this object is
// destroyed, because streams use this object until then.
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
/// The most of these streams for one caller without the role kOperate, and for all callers without
/// this role together. So operators find room. EventStreams does not enforce these bounds: the
/// admin service does, before it calls Watch.
inline constexpr access::StreamPlaces::Bounds kEventPlaces{.of_caller = 16, .of_readers = 48};

/// The HTTP/2 pings that detect callers that vanished or hang. Without pings, the server would
/// never notice that the caller of an idle stream is gone. With them, the stream of this caller
/// ends after at most `every` plus `patience`.
struct CallerPings {
  std::chrono::milliseconds every{20'000};
  std::chrono::milliseconds patience{10'000};
};
/// Makes the server ping its callers. REQUIRES: the server is not built yet.
void PingCallers(grpc::ServerBuilder& builder, CallerPings pings = {});

class EventStreams {
 public:
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

  /// If `history` is null, every caller is refused with NOT_FOUND. `unread_for`: how long a caller
  /// may leave a message unread.
  explicit EventStreams(std::shared_ptr<const History> history,
                        Duration unread_for = std::chrono::minutes(1))
      : history_(std::move(history)), unread_for_(unread_for) {}
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  /// Returns a reactor that ends its call with this error at once. Return the reactor to gRPC; it
  /// deletes itself.
  static Reactor* Refuse(const grpc::Status& why);
  /// Returns a reactor that serves one caller. Return it to gRPC; it deletes itself. It keeps
  /// `place` until the stream ends. The reactor ends with an error at once, in these cases:
  ///  - INVALID_ARGUMENT: `bytes` are no v1::WatchEventsRequest.
  ///  - NOT_FOUND: there is no history.
  ///  - RESOURCE_EXHAUSTED: there are kMaxEventStreams streams, or the host lacks threads.
  ///
  /// The first message comes at once, even without events. If the request has no `after`, the
  /// stream has only events from now on. In three cases the stream begins with the oldest event
  /// that is kept, and its first message has `reset`:
  ///  - `started` is set, and is not of this history.
  ///  - `after` is greater than the number of the newest event.
  ///  - The first events after `after` are not kept any more.
  /// If `after` is of an earlier process, but this history has used the number too, only `started`
  /// shows it.
  ///
  /// A stream of one shard gets a message without events after each 500 events of other shards, so
  /// that the caller knows how far the stream has got. If the group does not have the shard, no
  /// event comes; that is no error.
  ///
  /// The request comes as bytes, because gRPC keeps a request as long as its stream. gRPC counts
  /// these bytes against the server's memory (ServerLimits). It would not count a parsed request,
  /// which may be 50 times as large.
  Reactor* Watch(grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes,
                 access::StreamPlaces::Place place = nullptr);

 private:
  class Stream;
  using StreamId = std::uint64_t;

  /// Posts a task to the thread. The number of waiting tasks is bounded, because the streams are
  /// bounded, and gRPC reports only a few events of each stream at a time.
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
  // The next four are for the thread only.
  std::map<StreamId, Stream*> streams_;    // those that were not asked to end
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
