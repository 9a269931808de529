// RouteServer: a RouteHub on a thread of its own, for gRPC, HTTP and whoever else asks.
//
// Thread-safe; nothing here blocks. Answers and sinks are called on the server's thread: they must
// be quick. What waits for that thread is bounded: one routes' table of changes, one message a
// stream, kMostQuestions questions.
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
#include "routing/route_hub.h"
#include "runtime/control.h"

namespace baton::routing {

struct RouteServerOptions {
  std::size_t most_watchers = 10'000;
};

struct RouteServerCounts {
  RouteHubCounts hub;
  std::uint64_t watchers = 0;          ///< now
  std::uint64_t watchers_refused = 0;  ///< beyond most_watchers
  std::uint64_t questions = 0;         ///< not answered yet
  std::uint64_t questions_refused = 0;
};

class RouteServer final : public runtime::RouteObserver,
                          public std::enable_shared_from_this<RouteServer> {
 public:
  static constexpr std::size_t kMostQuestions = 1024;

  /// Begins to follow `control`, which keeps it alive.
  static std::shared_ptr<RouteServer> Start(runtime::Control& control,
                                            RouteServerOptions options = {});
  /// As Shutdown.
  ~RouteServer() override;
  RouteServer(const RouteServer&) = delete;
  RouteServer& operator=(const RouteServer&) = delete;

  /// Ends every stream and question, then the thread; idempotent. REQUIRES: not called from an
  /// answer or a sink.
  void Shutdown();

  /// Begins a stream; whatever is wrong with the request comes as its end. False: too many
  /// watchers, or shut down, and the sink hears nothing. The sink lives until its End.
  [[nodiscard]] bool Watch(RouteSink& sink, RouteRequest request);
  /// The stream's message was sent, or could not be.
  void Written(const RouteSink& sink, bool sent);
  /// The caller has gone; the sink's End follows, if it did not come before.
  void Cancel(const RouteSink& sink) { Written(sink, false); }

  /// A stream that Watch admitted is over, and nothing refers to its sink any more: there is room
  /// for another. Once, after End.
  void WatcherEnded();

  /// A shard's number, or a key.
  using Question = std::variant<ShardId, std::string>;
  /// One route. kInvalidArgument, kNotFound, kUnavailable (also where too many ask).
  void Lookup(std::string group, Question question, std::function<void(Result<RouteList>)> answer);
  /// All routes, or those after a revision once there are any, waiting up to `wait`. The answer
  /// comes once. kUnavailable as above. Returns what EndPoll takes.
  std::uint64_t Poll(std::optional<Revision> after, Duration wait,
                     std::function<void(Result<RouteList>)> answer);
  /// Who asked has gone. The poll makes room, and is answered like any other.
  void EndPoll(std::uint64_t poll);

  RouteServerCounts counts() const;

  // RouteObserver: on the node's loop.
  void OnRoutes(const runtime::RouteBatch& batch) override;
  void OnRoutesEnded(const Error& why) override;

 private:
  explicit RouteServer(RouteServerOptions options);
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace baton::routing
