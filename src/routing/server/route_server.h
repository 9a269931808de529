// RouteServer: runs a RouteHub on a thread of its own, for gRPC, HTTP and others.
//
// Thread-safe. Only Shutdown and the destructor block. The server calls answers and sinks on its
// own thread. One exception: if it refuses a question at once, it calls the answer on the caller's
// thread, before the method returns. REQUIRES: answers and sinks are quick.
//
// A *question* is a lookup or a poll. The work that waits for the thread is bounded: twice as many
// changes as shards, one message for each of max_watchers streams, and kMaxQuestions questions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "baton/result.h"
#include "routing/server/route_hub.h"
#include "runtime/control.h"

namespace baton::routing {

struct RouteServerOptions {
  std::size_t max_watchers = 10'000;
};

struct RouteServerCounts {
  RouteHubCounts hub;
  std::uint64_t watchers = 0;           ///< streams for which WatcherEnded was not called yet
  std::uint64_t watchers_refused = 0;   ///< streams refused because of max_watchers
  std::uint64_t questions = 0;          ///< lookups and polls that are not answered yet
  std::uint64_t questions_refused = 0;  ///< lookups and polls refused because of kMaxQuestions
};

class RouteServer final : public runtime::RouteObserver,
                          public std::enable_shared_from_this<RouteServer> {
 public:
  static constexpr std::size_t kMaxQuestions = 1024;

  /// Starts the thread, and observes the routes of `control`. `control` shares the ownership of the
  /// server until the node stops or halts. From then on, the server refuses streams and questions
  /// with the node's error. Throws std::system_error if the host has no thread left.
  static std::shared_ptr<RouteServer> Start(runtime::Control& control,
                                            RouteServerOptions options = {});
  /// Calls Shutdown.
  ~RouteServer() override;
  RouteServer(const RouteServer&) = delete;
  RouteServer& operator=(const RouteServer&) = delete;

  /// Ends every stream with kUnavailable, and answers every waiting question with kUnavailable.
  /// Waits until the thread has ended. Later streams and questions are refused. Later calls of
  /// Shutdown only wait. REQUIRES: neither Shutdown nor the destructor is called from an answer or
  /// a sink.
  void Shutdown();

  /// Begins a stream, and sets RouteRequest::came to the present time. True: the sink's End will be
  /// called once. If RouteHub::Add refuses the request, End is the only call, with the error of
  /// Add. False: there are max_watchers streams already, or the server was shut down. Then the sink
  /// is never called. REQUIRES: if Watch returns true, the sink lives until its End was called.
  [[nodiscard]] bool Watch(RouteSink& sink, RouteRequest request);
  /// Call it once for each message that the sink got. `sent`: whether the message was sent. If so,
  /// the sink may get its next message; otherwise the stream ends. Does nothing if the stream has
  /// ended.
  void Written(const RouteSink& sink, bool sent);
  /// Call it if the caller is gone. Ends the stream; then the sink's End is called. Does nothing if
  /// the stream has ended.
  void Cancel(const RouteSink& sink) { Written(sink, false); }

  /// Makes room for another stream. REQUIRES: if Watch returned true for a stream, WatcherEnded is
  /// called once for it, after the sink's End.
  void WatcherEnded();

  /// A shard's number, or a key.
  using Question = std::variant<ShardId, std::string>;
  /// Calls `answer` once, with one route, maybe before Lookup returns. An empty `group` means any
  /// group. Errors:
  ///  - kInvalidArgument: the key is not valid.
  ///  - kNotFound: the server has another group, or the group has no such shard.
  ///  - kUnavailable: no routes were read yet, kMaxQuestions questions wait, the server was shut
  ///    down, or the node has stopped.
  ///  - If the node has halted: the node's error.
  void Lookup(std::string group, Question question, std::function<void(Result<RouteList>)> answer);
  /// Calls `answer` once, maybe before Poll returns. Without `after`, the list has all routes.
  /// Otherwise it has the routes that changed after that revision (RoutePoll::after). If no route
  /// has changed, the poll waits for a change, but at most for `wait`. If no change comes in this
  /// time, the list is empty. If there are more than `most` routes, the list is empty and
  /// RouteList::too_long is true. Errors: kUnavailable and the node's error, as in Lookup. Returns
  /// the id for EndPoll. REQUIRES (not checked): now plus `wait` does not overflow.
  std::uint64_t Poll(std::optional<Revision> after, Duration wait, std::size_t most,
                     std::function<void(Result<RouteList>)> answer);
  /// Call it if the caller is gone. If the poll still waits, answers the poll with kUnavailable,
  /// which makes room for another question. Otherwise does nothing.
  void EndPoll(std::uint64_t poll);

  /// The counts so far. The counts in `hub` are those after the thread's last turn.
  RouteServerCounts counts() const;

  // RouteObserver, called on the node's loop.
  void OnRoutes(const runtime::RouteBatch& batch) override;
  void OnRoutesEnded(const Error& why) override;

 private:
  explicit RouteServer(RouteServerOptions options);
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace baton::routing
