// RouteServer: runs a RouteHub on a thread of its own, for gRPC, HTTP and others.
//
// Thread-safe; no method blocks, except Shutdown and the destructor. The server calls answers and
// sinks on its own thread. One exception: if it refuses a question at once, it calls the answer on
// the caller's thread, before the method returns. REQUIRES: answers and sinks are quick. Each queue
// to the thread is bounded: changes by the size of the routes' table, streams by max_watchers with
// one message each, questions by kMaxQuestions.
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
  /// node stops or halts. Throws std::system_error if the host has no thread left.
  static std::shared_ptr<RouteServer> Start(runtime::Control& control,
                                            RouteServerOptions options = {});
  /// Calls Shutdown.
  ~RouteServer() override;
  RouteServer(const RouteServer&) = delete;
  RouteServer& operator=(const RouteServer&) = delete;

  /// Ends every stream, answers every question that still waits with kUnavailable, and waits for
  /// the thread's end. Later streams and questions are refused; later calls of Shutdown only wait.
  /// REQUIRES: not called from an answer or a sink.
  void Shutdown();

  /// Begins a stream, and sets RouteRequest::came. True: the sink's End will be called once; if the
  /// request is refused, End says why. False: there are too many watchers, or the server was shut
  /// down; the sink is never called. REQUIRES: the sink lives until its End.
  [[nodiscard]] bool Watch(RouteSink& sink, RouteRequest request);
  /// Call it once for each message that the sink got. `sent`: the message was sent. Otherwise it
  /// could not be sent, which ends the stream.
  void Written(const RouteSink& sink, bool sent);
  /// The caller is gone. The sink's End follows if it was not called before.
  void Cancel(const RouteSink& sink) { Written(sink, false); }

  /// Makes room for another stream. REQUIRES: called once for each stream for which Watch returned
  /// true, after its End, when nothing uses the sink any more.
  void WatcherEnded();

  /// A shard's number, or a key.
  using Question = std::variant<ShardId, std::string>;
  /// Answers once, with one route. An empty `group` means any group. Errors:
  ///  - kInvalidArgument: the key is invalid;
  ///  - kNotFound: the server has another group, or there is no such shard;
  ///  - kUnavailable: no routes were read yet, too many questions wait, or the server or its node
  ///    stops;
  ///  - if the node halted: the node's error.
  void Lookup(std::string group, Question question, std::function<void(Result<RouteList>)> answer);
  /// Answers once: see RoutePoll. Without `after` the list has all routes. Otherwise it has the
  /// routes that changed after that revision. If there are none, the answer waits for a change;
  /// after `wait` without a change, it is an empty list. A `wait` of 0 or less does not wait. If
  /// there are more than `most`, the list is empty and RouteList::too_long.
  /// Errors: kUnavailable and the node's error, as in Lookup. Returns the id for EndPoll.
  std::uint64_t Poll(std::optional<Revision> after, Duration wait, std::size_t most,
                     std::function<void(Result<RouteList>)> answer);
  /// The caller is gone: if the poll still waits, answers it with kUnavailable, which makes room
  /// for another one.
  void EndPoll(std::uint64_t poll);

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
