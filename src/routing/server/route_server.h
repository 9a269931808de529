// RouteServer: runs a RouteHub on a thread of its own, for gRPC, HTTP and others.
//
// Thread-safe; no method blocks, except Shutdown and the destructor. The server calls answers and
// sinks on its thread, so they must be quick. If it refuses a request at once, it calls the answer
// on the caller's thread. Each queue to the thread is bounded: changes by the size of the routes'
// table, streams by most_watchers with one message each, questions by kMaxQuestions.
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
  std::size_t most_watchers = 10'000;
};

struct RouteServerCounts {
  RouteHubCounts hub;
  std::uint64_t watchers = 0;          ///< at the moment
  std::uint64_t watchers_refused = 0;  ///< because there were most_watchers already
  std::uint64_t questions = 0;         ///< not answered yet
  std::uint64_t questions_refused = 0;
};

class RouteServer final : public runtime::RouteObserver,
                          public std::enable_shared_from_this<RouteServer> {
 public:
  static constexpr std::size_t kMaxQuestions = 1024;

  /// Starts the thread, and observes `control`, which keeps the server alive.
  static std::shared_ptr<RouteServer> Start(runtime::Control& control,
                                            RouteServerOptions options = {});
  /// Calls Shutdown.
  ~RouteServer() override;
  RouteServer(const RouteServer&) = delete;
  RouteServer& operator=(const RouteServer&) = delete;

  /// Ends every stream and answers every question, then ends the thread. Idempotent. REQUIRES: not
  /// called from an answer or a sink.
  void Shutdown();

  /// Begins a stream. If the request is invalid, the sink's End says why. False: there are too many
  /// watchers, or the server was shut down; then the sink is never called. REQUIRES: the sink lives
  /// until its End.
  [[nodiscard]] bool Watch(RouteSink& sink, RouteRequest request);
  /// The stream's message was sent (`sent`), or could not be.
  void Written(const RouteSink& sink, bool sent);
  /// The caller is gone. The sink's End follows, unless it was already called.
  void Cancel(const RouteSink& sink) { Written(sink, false); }

  /// Makes room for another stream. Call it once for each admitted stream, after its End, when
  /// nothing refers to its sink any more.
  void WatcherEnded();

  /// A shard's number, or a key.
  using Question = std::variant<ShardId, std::string>;
  /// Answers with one route. kInvalidArgument: the key is invalid. kNotFound: the server has
  /// another group, or there is no such shard. kUnavailable: no routes were read yet, too many
  /// questions wait, or the server stops.
  void Lookup(std::string group, Question question, std::function<void(Result<RouteList>)> answer);
  /// Answers once: with all routes, or with the routes after a revision as soon as there are any.
  /// After `wait` without a change the list is empty. kUnavailable: as in Lookup. Returns the id
  /// for EndPoll.
  std::uint64_t Poll(std::optional<Revision> after, Duration wait,
                     std::function<void(Result<RouteList>)> answer);
  /// The caller is gone: answers the poll now, which makes room for another one.
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
