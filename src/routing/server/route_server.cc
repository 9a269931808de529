#include "routing/server/route_server.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "routing/lookup_key.h"

namespace baton::routing {
namespace {

using runtime::RouteBatch;
using runtime::ViewRoute;
using Answer = std::function<void(Result<RouteList>)>;

const Error kShutDown{ErrorCode::kUnavailable, "the server is stopping; ask another node or relay"};
const Error kTooMany{ErrorCode::kUnavailable,
                     "too many requests at once: try again later, or ask another node or relay"};

Result<RouteList> Look(const RouteHub& hub, const std::string& group,
                       const RouteServer::Question& question) {
  if (const auto trouble = hub.Trouble(group)) return *trouble;
  if (const auto* shard = std::get_if<ShardId>(&question)) {
    return hub.Lookup(*shard, BootClock::now());
  }
  const runtime::RouteGroup& known = *hub.group();
  const auto shard = ShardOfKey(std::get<std::string>(question), known.hash, known.shards);
  if (!shard) return shard.error();
  return hub.Lookup(shard.value(), BootClock::now());
}

/// Keeps only the last change of each shard.
void Compact(std::vector<ViewRoute>& routes) {
  std::stable_sort(routes.begin(), routes.end(),
                   [](const ViewRoute& a, const ViewRoute& b) { return a.shard < b.shard; });
  std::vector<ViewRoute> kept;
  for (ViewRoute& route : routes) {
    if (!kept.empty() && kept.back().shard == route.shard) kept.pop_back();
    kept.push_back(std::move(route));
  }
  routes = std::move(kept);
}

}  // namespace

struct RouteServer::State {
  explicit State(RouteServerOptions given) : options(given) {}

  void Run();
  /// False: the server was shut down, and the task is dropped.
  bool Post(std::function<void()> task);
  void TakeRoutes(const RouteBatch& batch);
  /// Counts one more, unless there are `most` already.
  bool Admit(std::atomic<std::size_t>& count, std::size_t most) {
    if (count.fetch_add(1) < most) return true;
    --count;
    return false;
  }
  /// Wraps an answer so that it makes room for another question.
  Answer Counted(Answer answer) {
    return [this, answer = std::move(answer)](Result<RouteList> result) {
      --questions;
      answer(std::move(result));
    };
  }

  const RouteServerOptions options;
  RouteHub hub;  // only the thread uses it
  std::atomic<std::size_t> watchers{0};
  std::atomic<std::size_t> questions{0};
  std::atomic<std::uint64_t> watchers_refused{0};
  std::atomic<std::uint64_t> questions_refused{0};
  std::atomic<RouteHub::StreamId> last_stream{0};
  std::atomic<std::uint64_t> last_poll{0};

  mutable std::mutex mutex;  // guards what follows, up to `ending`
  std::condition_variable changed;
  std::vector<std::function<void()>> tasks;
  std::optional<RouteBatch> batch;  // all changes since the thread last looked, merged
  RouteHubCounts counts;
  bool ending = false;

  std::mutex join_mutex;
  std::thread thread;  // guarded by join_mutex
};

void RouteServer::State::Run() {
  TimePoint next = TimePoint::max();
  while (true) {
    std::vector<std::function<void()>> todo;
    std::optional<RouteBatch> news;
    bool last = false;
    {
      std::unique_lock lock(mutex);
      const auto something = [&] { return ending || !tasks.empty() || batch.has_value(); };
      // Bounded: the clock's greatest time point would overflow as a delay.
      constexpr Duration kLongest = std::chrono::hours(1);
      const Duration delay = std::clamp(next - BootClock::now(), Duration{0}, kLongest);
      changed.wait_for(lock, next == TimePoint::max() ? kLongest : delay, something);
      todo = std::exchange(tasks, {});
      news = std::exchange(batch, std::nullopt);
      last = ending;
    }
    if (news) {
      Compact(news->routes);
      hub.Apply(*news, BootClock::now());
    }
    for (const auto& task : todo) task();
    if (last) return hub.End(kShutDown);
    next = hub.Advance(BootClock::now());
    const std::lock_guard lock(mutex);
    counts = hub.counts();
  }
}

bool RouteServer::State::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex);
  if (ending) return false;
  tasks.push_back(std::move(task));
  changed.notify_one();
  return true;
}

// Merges batches that the thread has not seen yet. Compact bounds them by the size of the table.
void RouteServer::State::TakeRoutes(const RouteBatch& news) {
  const std::lock_guard lock(mutex);
  if (ending) return;
  if (!batch) {
    batch = news;
  } else {
    std::vector<ViewRoute> routes = std::move(batch->routes);
    routes.insert(routes.end(), news.routes.begin(), news.routes.end());
    if (routes.size() > 2 * std::size_t{news.group->shards}) Compact(routes);
    batch = RouteBatch{.group = news.group,
                       .routes = std::move(routes),
                       .revision = news.revision,
                       .proven_at = news.proven_at,
                       .stale_after = news.stale_after};
  }
  changed.notify_one();
}

RouteServer::RouteServer(RouteServerOptions options) : state_(std::make_unique<State>(options)) {}

std::shared_ptr<RouteServer> RouteServer::Start(runtime::Control& control,
                                                RouteServerOptions options) {
  std::shared_ptr<RouteServer> server(new RouteServer(options));
  server->state_->thread = std::thread([state = server->state_.get()] { state->Run(); });
  control.AddRouteObserver(server);
  return server;
}

RouteServer::~RouteServer() { Shutdown(); }

void RouteServer::Shutdown() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    state_->changed.notify_one();
  }
  const std::lock_guard lock(state_->join_mutex);
  if (state_->thread.joinable()) state_->thread.join();
}

bool RouteServer::Watch(RouteSink& sink, RouteRequest request) {
  State& state = *state_;
  if (!state.Admit(state.watchers, state.options.max_watchers)) {
    ++state.watchers_refused;
    return false;
  }
  const RouteHub::StreamId id = ++state.last_stream;
  sink.stream = id;
  request.came = BootClock::now();
  const bool posted = state.Post([&state, &sink, id, request = std::move(request)] {
    const Status added = state.hub.Add(id, sink, request);
    if (!added) sink.End(added.error());
  });
  if (!posted) --state.watchers;
  return posted;
}

void RouteServer::Written(const RouteSink& sink, bool sent) {
  state_->Post([state = state_.get(), stream = sink.stream, sent] {
    if (sent) {
      state->hub.Written(stream);
    } else {
      state->hub.Remove(stream);
    }
  });
}

void RouteServer::Lookup(std::string group, Question question, Answer answer) {
  State& state = *state_;
  const auto* key = std::get_if<std::string>(&question);
  if (key != nullptr && key->size() > kLongestKey) return answer(KeyTooLong(key->size()));
  if (!state.Admit(state.questions, kMaxQuestions)) {
    ++state.questions_refused;
    return answer(kTooMany);
  }
  const bool posted =
      state.Post([&state, group = std::move(group), question = std::move(question),
                  counted = state.Counted(answer)] { counted(Look(state.hub, group, question)); });
  if (posted) return;
  --state.questions;
  answer(kShutDown);
}

std::uint64_t RouteServer::Poll(std::optional<Revision> after, Duration wait, std::size_t most,
                                Answer answer) {
  State& state = *state_;
  const std::uint64_t id = ++state.last_poll;
  if (!state.Admit(state.questions, kMaxQuestions)) {
    ++state.questions_refused;
    answer(kTooMany);
    return id;
  }
  const bool posted = state.Post([&state, id, after, wait, most, counted = state.Counted(answer)] {
    const TimePoint now = BootClock::now();
    state.hub.Poll(
        {.id = id, .after = after, .deadline = now + wait, .most = most, .answer = counted}, now);
  });
  if (posted) return id;
  --state.questions;
  answer(kShutDown);
  return id;
}

void RouteServer::EndPoll(std::uint64_t poll) {
  state_->Post([state = state_.get(), poll] { state->hub.EndPoll(poll); });
}

void RouteServer::WatcherEnded() { --state_->watchers; }

RouteServerCounts RouteServer::counts() const {
  const std::lock_guard lock(state_->mutex);
  return {.hub = state_->counts,
          .watchers = state_->watchers,
          .watchers_refused = state_->watchers_refused,
          .questions = state_->questions,
          .questions_refused = state_->questions_refused};
}

void RouteServer::OnRoutes(const RouteBatch& batch) { state_->TakeRoutes(batch); }

void RouteServer::OnRoutesEnded(const Error& why) {
  state_->Post([state = state_.get(), why] { state->hub.End(why); });
}

}  // namespace baton::routing
