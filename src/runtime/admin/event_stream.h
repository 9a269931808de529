// EventStreams: callers that follow a history by gRPC.
//
// A stream is a cursor: one message of it is under way at most, and who reads slowly finds `reset`
// where the history went on without it. One thread, begun with the first stream, owns them all;
// gRPC's and the node's loop only tell it.
//
// Thread-safe. Destroy it after its server has shut down: until then callers hold on to it.
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

inline constexpr std::size_t kMaxEventStreams = 64;  ///< more: RESOURCE_EXHAUSTED

/// How callers are noticed that are gone without a word, or stand still: by HTTP/2's pings, as an
/// idle stream sends nothing that could fail. Their places are free within the sum.
struct CallerPings {
  std::chrono::milliseconds every{20'000};
  std::chrono::milliseconds patience{10'000};
};
/// Has the server ping its callers. Before it is built.
void PingCallers(grpc::ServerBuilder& builder, CallerPings pings = {});

class EventStreams {
 public:
  using Reactor = grpc::ServerWriteReactor<v1::WatchEventsResponse>;

  /// `history` null: who comes is refused.
  explicit EventStreams(std::shared_ptr<const History> history) : history_(std::move(history)) {}
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  /// Serves one caller. The answer is gRPC's, and ends itself.
  Reactor* Watch(grpc::CallbackServerContext& context, const v1::WatchEventsRequest& request);

 private:
  class Stream;
  using StreamId = std::uint64_t;

  /// The thread shall do this. Bounded: of each stream no more than its events by gRPC wait.
  void Post(std::function<void()> task);
  bool StartThread();
  void Ended();
  void Run();
  // On the thread.
  void Advance();
  void AwaitMore();
  void Remove(StreamId id, const grpc::Status& why);

  const std::shared_ptr<const History> history_;
  std::map<StreamId, Stream*> streams_;  // the thread's alone: not yet asked to end
  History::WaitId waiting_ = 0;          // the thread's alone
  TimePoint break_at_ =
      TimePoint::max();  // the thread's alone: who has not read by then is cut off

  std::mutex mutex_;  // below; never held while the history is asked
  std::condition_variable changed_;
  std::vector<std::function<void()>> tasks_;
  std::size_t open_ = 0;
  StreamId last_stream_ = 0;
  bool more_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
