// EventStreams: callers that follow a history by gRPC.
//
// Each stream is a cursor with at most one message in flight. If the history moves on past a slow
// reader, its next message has `reset`. One thread, started with the first stream, owns all
// streams; gRPC's threads and the node's loop only post to it.
//
// Thread-safe. REQUIRES: the server is shut down before this object is destroyed, as callers use it
// until then.
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

#include "base/clock.h"
#include "baton/v1/admin.pb.h"
#include "runtime/history.h"

namespace baton::runtime {

inline constexpr std::size_t kMaxEventStreams = 64;  ///< above this: RESOURCE_EXHAUSTED

/// The HTTP/2 pings that detect callers that vanished or hang. An idle stream sends nothing else
/// that could fail. Such a caller's place is free after `every` plus `patience`.
struct CallerPings {
  std::chrono::milliseconds every{20'000};
  std::chrono::milliseconds patience{10'000};
};
/// Makes the server ping its callers. Call it before the server is built.
void PingCallers(grpc::ServerBuilder& builder, CallerPings pings = {});

class EventStreams {
 public:
  using Reactor = grpc::ServerWriteReactor<v1::WatchEventsResponse>;

  /// `history` null: every caller is refused.
  explicit EventStreams(std::shared_ptr<const History> history) : history_(std::move(history)) {}
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  /// A call that ends with this error at once. The reactor deletes itself.
  static Reactor* Refuse(const grpc::Status& why);
  /// Serves one caller. gRPC gets the returned reactor, which deletes itself.
  Reactor* Watch(grpc::CallbackServerContext& context, const v1::WatchEventsRequest& request);

 private:
  class Stream;
  using StreamId = std::uint64_t;

  /// Posts a task to the thread. Bounded: for each stream at most gRPC's own events wait.
  void Post(std::function<void()> task);
  bool StartThread();
  void Ended();
  void Run();
  // These run on the thread.
  void Advance();
  void AwaitMore();
  void Remove(StreamId id, const grpc::Status& why);

  const std::shared_ptr<const History> history_;
  std::map<StreamId, Stream*> streams_;    // only for the thread: those not asked to end
  History::WaitId waiting_ = 0;            // only for the thread
  TimePoint break_at_ = TimePoint::max();  // only for the thread: cuts off slow readers

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
