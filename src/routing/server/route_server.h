// RouteServer: runs a RouteHub on a thread of its own, for gRPC, HTTP and others.
//
// Thread-safe; no method blocks, except Shutdown and the destructor. The server calls answers and
// sinks on its own thread. One exception: if it refuses a question at once, it calls the answer on
// the caller's thread, before the method returns. REQUIRES: answers and sinks are quick. Each queue
// to the thread is bounded: changes by twice the number of shards, streams by max_watchers with one
// message each, questions by kMaxQuestions. A question is a lookup or a poll.
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
  std::uint64_t watchers = 0;           ///< streams now
  std::uint64_t watchers_refused = 0;   ///< streams refused because of max_watchers
  std::uint64_t questions = 0;          ///< lookups and polls that are not answered yet
  std::uint64_t questions_refused = 0;  ///< lookups and polls refused because of kMaxQuestions
};

class RouteServer final : public runtime::RouteObserver,
                          public std::enable_shared_from_this<RouteServer> {
 public:
  static constexpr std::size_t kMaxQuestions = 1024;

  /// Starts the thread and observes `control`, which shares the ownership of the server until the
  /// node stops or halts. After that the server refuses streams and questions with the node's
  /// error. Throws std::system_error if the host has no thread left.
  static std::shared_ptr<RouteServer> Start(runtime::Control& control,
                                            RouteServerOptions options = {});
  /// Calls Shutdown.
  ~RouteServer() override;
  RouteServer(const RouteServer&) = delete;
  RouteServer& operator=(const RouteServer&) = delete;

  /// Ends every stream, and answers every question that still waits, both with kUnavailable. Waits
  /// for the thread's end. Later streams and questions are refused. Later calls of Shutdown only
  /// wait. REQUIRES: neither Shutdown nor the destructor is called from an answer or a sink.
  void Shutdown();

  /// Begins a stream, and sets RouteRequest::came. True: the sink's End will be called once. If the
  /// request is refused (RouteHub::Add), only End is called, and says why. False: there are
  /// max_watchers streams already, or the server was shut down. Then the sink is never called.
  /// REQUIRES: the sink lives until its End.
  [[nodiscard]] bool Watch(RouteSink& sink, RouteRequest request);
  /// Call it once for each message that the sink got. `sent`: the message was sent, so the sink may
  /// get the next one. False: it could not be sent, so the stream ends. Does nothing if the stream
  /// has ended.
  void Written(const RouteSink& sink, bool sent);
  /// The caller is gone, so the stream ends. The sink's End follows if it was not called before.
  void Cancel(const RouteSink& sink) { Written(sink, false); }

  /// Makes room for another stream. REQUIRES: for each stream for which Watch returned true,
  /// WatcherEnded is called once, after the sink's End, when nothing uses the sink any more.
  void WatcherEnded();

  /// A shard's number, or a key.
  using Question = std::variant<ShardId, std::string>;
  /// Answers once, with one route. The answer may come before Lookup returns. An empty `group`
  /// means any group. Errors:
  ///  - kInvalidArgument: the key is invalid;
  ///  - kNotFound: the server has another group, or there is no such shard;
  ///  - kUnavailable: no routes were read yet, too many questions wait, or the server or its node
  ///    stops;
  ///  - if the node halted: the node's error.
  void Lookup(std::string group, Question question, std::function<void(Result<RouteList>)> answer);
  /// Answers once: see RoutePoll. Without `after` the list has all routes. Otherwise it has the
  /// routes that changed after that revision. If no route did, the answer waits for a change. If no
  /// change comes within `wait`, the list is empty. With a `wait` of 0 or less the answer does not
  /// wait. If there are more than `most` routes, the list is empty and RouteList::too_long is true.
  /// Errors: kUnavailable and the node's error, as in Lookup. The answer may come before Poll
  /// returns. Returns the id for EndPoll. REQUIRES (not checked): now plus `wait` does not
  /// overflow.
  std::uint64_t Poll(std::optional<Revision> after, Duration wait, std::size_t most,
                     std::function<void(Result<RouteList>)> answer);
  /// The caller is gone. If the poll still waits, answers it with kUnavailable, which makes room
  /// for another question. Otherwise does nothing.
  void EndPoll(std::uint64_t poll);

  /// The counts so far. Those of the hub are as of the thread's last turn.
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
