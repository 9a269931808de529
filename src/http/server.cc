#include "http/server.h"

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "http/address.h"
#include "http/body_budget.h"
#include "http/bound_counts.h"
#include "http/connection.h"
#include "http/connection_places.h"
#include "http/event_feed.h"
#include "http/own_sockets.h"
#include "http/peer.h"
#include "http/route_metrics.h"
#include "http/route_polls.h"

namespace baton::http {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// The pause when no descriptor is free: without it, accepting would spin.
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::minutes kSayFewAgain{1};
constexpr std::chrono::seconds kRetryPlace{5};
constexpr std::chrono::seconds kRetryBytes{5};
constexpr std::chrono::seconds kRetryCalls{1};

}  // namespace

/// Everything except Bind, Serve and the destructor runs on the socket thread.
class HttpServer::Impl : public Connection::Owner {
 public:
  explicit Impl(HttpOptions options)
      : options_(std::move(options)), unread_(options_.most_unread), acceptor_(io_), pause_(io_) {
    gate_->server = this;
  }
  ~Impl() override { Stop(); }

  Status Bind() {
    Result<Address> parsed = ParseAddress(options_.address);
    if (!parsed) return parsed.error();
    address_ = parsed.value();
    error_code error;
    const tcp::endpoint endpoint = Resolve(error);
    if (!error) OpenUninherited(acceptor_, endpoint.protocol(), error);
    if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (!error) address_.port = acceptor_.local_endpoint(error).port();
    if (!error) return Ok();
    return Error{ErrorCode::kUnavailable,
                 fmt::format("can't listen on {}: {}", options_.address, error.message())};
  }

  void Serve(runtime::Control& control, MetricsSources metrics,
             std::shared_ptr<routing::RouteServer> routes) {
    routes_ = std::move(routes);
    BATON_CHECK(handler_ == nullptr);
    metrics.node.push_back(MakeBoundsMetrics(options_.group, bounds_));
    if (routes_ != nullptr) metrics.node.push_back(MakeRouteMetrics(options_.group, routes_));
    control_ = &control;
    handler_ = std::make_unique<Handler>(control, std::move(metrics));
    Accept();
    thread_ = std::thread([this] { io_.run(); });
  }

  const Address& address() const { return address_; }
  HttpBounds bounds() const { return bounds_->Get(); }

  // Connection::Owner.
  void Answer(Connection& connection, Request request,
              std::function<void(Response)> done) override {
    std::string& target = request.target;
    if (auto refusal = RefuseForeign(request.caller, target, options_.names)) {
      ++bounds_->foreign;
      return done(*std::move(refusal));
    }
    if (auto refusal = Deny(connection, request)) return done(*std::move(refusal));
    if (IsEvents(target) && IsFeed(request)) return AskEvents(request, done);
    if (routes_ != nullptr && IsRoutes(target)) {
      return AskRoutes(connection, request, std::move(done));
    }
    if (auto quick = handler_->TryAnswer(target)) return done(*std::move(quick));
    if (waiting_ >= kMaxWaiting) {
      ++bounds_->waiting;
      return done(ErrorResponse(503, target, "too many requests are waiting; try again later"));
    }
    ++waiting_;
    net::post(workers_, [this, target = std::move(target), done = std::move(done)]() mutable {
      Response response = Render(target);
      net::post(io_, [this, done = std::move(done), response = std::move(response)]() mutable {
        --waiting_;
        done(Within(std::move(response)));
      });
    });
  }
  void Waiting(Connection& connection) override { places_.Waiting(connection); }
  void Busy(Connection& connection) override { places_.Busy(connection); }
  void Closed(Connection& connection) override {
    const auto found = std::find_if(polls_.begin(), polls_.end(), [&](const auto& entry) {
      return entry.second.connection == &connection;
    });
    // Owns the connection, which may end with this function.
    std::function<void(Response)> done;
    if (found != polls_.end()) {
      RoutesPoll& poll = found->second;
      done.swap(poll.done);
      poll.connection = nullptr;
      *poll.gone = true;
      if (poll.stage == RoutesPoll::Stage::kDue) {
        polls_.erase(found);
      } else {
        routes_->EndPoll(poll.asked);
      }
    }
    places_.Remove(connection);
  }
  void CutOff(Slow what) override {
    ++(what == Slow::kRequest ? bounds_->slow_requests : bounds_->slow_readers);
  }

 private:
  /// The way back for answers that may come after the server was destroyed.
  struct Gate {
    std::mutex mutex;
    Impl* server = nullptr;  // null: destroyed
  };

  /// A request for /v1/routes. It keeps its place until its answer was rendered or dropped, also if
  /// its client has gone: until then the answer takes memory.
  struct RoutesPoll {
    enum class Stage {
      kAsked,  ///< the route server waits for a change, or a short answer is rendered
      kDue,    ///< there is a long answer, and it waits for its turn (kMaxLists); nothing holds it
      kList    ///< the long answer is made and rendered
    };
    Stage stage = Stage::kAsked;
    Connection* connection = nullptr;  ///< null: the client has gone
    RoutesQuestion question{};
    std::uint64_t asked = 0;                 ///< its id at the route server
    std::optional<net::ip::address> peer{};  ///< see CountedPeer
    std::function<void(Response)> done{};
    /// The client has gone. Any thread reads it.
    std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
  };

  struct Follower {
    std::weak_ptr<EventFeed> feed;
    std::optional<net::ip::address> peer;  ///< see CountedPeer
  };

  /// The refusal of a request whose caller lacks the role that its path needs, or asks too often.
  std::optional<Response> Deny(Connection& connection, const Request& request) {
    if (options_.access == nullptr) return std::nullopt;
    const std::string_view target = request.target;
    const std::string_view path = target.substr(0, target.find('?'));  // the query may name a key
    const access::Demand demand = access::DemandOfPath(path).value_or(access::kUnknownPath);
    if (demand.role == access::Role::kNone) return std::nullopt;
    access::Caller caller = connection.PeerCaller();
    if (demand.role != access::Role::kProbe) {  // a probe's token may be meant for others
      const access::Shown shown{.authorization = request.authorization,
                                .secure = connection.secure()};
      caller =
          options_.access->Identified(std::move(caller), shown, std::chrono::system_clock::now());
    }
    const auto refused = options_.access->RefuseRead(caller, demand, path);
    if (!refused) return std::nullopt;
    if (refused->why != access::Refused::Why::kTooMany) {
      ++bounds_->denied;
      return ErrorResponse(refused->why == access::Refused::Why::kToken ? 401 : 403, target,
                           refused->line);
    }
    Response busy = ErrorResponse(429, target, refused->line);
    busy.retry_after = kRetryCalls;
    return busy;
  }

  static bool IsFeed(const Request& request) {
    return request.accept.find("text/event-stream") != std::string::npos;
  }

  static Response NoPlace(std::string_view target, std::string words) {
    Response busy = ErrorResponse(503, target, std::move(words));
    busy.retry_after = kRetryPlace;
    return busy;
  }

  Response TooMuchUnread() {
    ++bounds_->bytes;
    Response busy = JsonError(503, "clients have not read what was sent; try again later");
    busy.retry_after = kRetryBytes;
    return busy;
  }

  /// The response, or a refusal if clients have too much to read already.
  Response Within(Response response) {
    if (response.body == nullptr) return response;
    response.body = unread_.Hold(response.body);
    return response.body == nullptr ? TooMuchUnread() : std::move(response);
  }

  // A feed needs no worker, however long its reader stays.
  void AskEvents(const Request& request, const std::function<void(Response)>& done) {
    const auto parsed = ParseEvents({.target = request.target,
                                     .accept = request.accept,
                                     .last_event_id = request.last_event_id});
    if (const auto* refusal = std::get_if<Response>(&parsed)) return done(*refusal);
    auto history = control_->history();
    if (history == nullptr) return done(NoHistory());
    std::erase_if(feeds_, [](const Follower& one) { return one.feed.expired(); });
    if (feeds_.size() >= kMaxFeeds) {
      ++bounds_->feeds;
      return done(NoPlace(request.target, "too many clients follow events; try again later"));
    }
    const auto peer = CountedPeer(request.peer, request.caller);
    const auto held = std::count_if(feeds_.begin(), feeds_.end(),
                                    [&](const Follower& one) { return one.peer == peer; });
    if (peer && static_cast<std::size_t>(held) >= kMaxFeedsOfPeer) {
      ++bounds_->peers;
      return done(NoPlace(request.target,
                          "too many clients at your address follow events; try again later"));
    }
    auto feed = std::make_shared<EventFeed>(std::move(history), std::get<EventsQuestion>(parsed));
    feeds_.push_back({.feed = feed, .peer = peer});
    Response response{.status = 200, .content_type = "text/event-stream", .feed = std::move(feed)};
    done(std::move(response));
  }

  // A waiting request needs no worker. A worker writes its answer.
  void AskRoutes(Connection& connection, const Request& request,
                 std::function<void(Response)> done) {
    const auto parsed = ParseRoutes(request.target);
    if (const auto* refusal = std::get_if<Response>(&parsed)) return done(*refusal);
    if (polls_.size() >= kMaxPolls) {
      ++bounds_->polls;
      return done(NoPlace(request.target, "too many polls are waiting; try again later"));
    }
    const auto peer = CountedPeer(request.peer, request.caller);
    const auto held = std::count_if(polls_.begin(), polls_.end(),
                                    [&](const auto& one) { return one.second.peer == peer; });
    if (peer && static_cast<std::size_t>(held) >= kMaxPollsOfPeer) {
      ++bounds_->peers;
      return done(
          NoPlace(request.target, "too many polls of your address are waiting; try again later"));
    }
    const std::uint64_t id = ++last_poll_;
    RoutesPoll& poll = polls_[id];
    poll.connection = &connection;
    poll.question = std::get<RoutesQuestion>(parsed);
    poll.peer = peer;
    poll.done = std::move(done);
    AskServer(id, poll.question, kShortList);
    // The others are answered at once, even if the client has closed its sending side.
    if (poll.question.wait.count() > 0) connection.WatchForEnd();
  }

  void AskServer(std::uint64_t id, const RoutesQuestion& question, std::size_t most) {
    RoutesPoll& poll = polls_.at(id);
    poll.asked = routes_->Poll(question.after, question.wait, most,
                               [gate = gate_, id, gone = poll.gone](auto answer) {
                                 const std::lock_guard lock(gate->mutex);
                                 if (gate->server != nullptr)
                                   gate->server->RenderRoutes(id, gone, std::move(answer));
                               });
  }

  // Called on the route server's thread, or on the socket thread if the question is refused.
  void RenderRoutes(std::uint64_t id, const std::shared_ptr<const std::atomic<bool>>& gone,
                    Result<routing::RouteList> answer) {
    if (*gone) return net::post(io_, [this, id] { Finish(id, {}); });
    if (answer && answer.value().too_long) return net::post(io_, [this, id] { ComeDue(id); });
    net::post(workers_, [this, id, gone, answer = std::move(answer)]() mutable {
      Response response = *gone ? Response() : RoutesResponse(answer);
      answer = Error{};  // frees the list, before its place is free
      net::post(io_, [this, id, response = std::move(response)]() mutable {
        Finish(id, std::move(response));
      });
    });
  }

  // A long answer is made only when its turn has come. A client that does not wait gets no turn.
  void ComeDue(std::uint64_t id) {
    const auto found = polls_.find(id);
    if (found == polls_.end()) return;
    RoutesPoll& poll = found->second;
    if (poll.connection == nullptr) return Finish(id, {});
    const bool waits = poll.question.wait.count() > 0;
    if (lists_ >= kMaxLists && !waits) return Finish(id, TooMuchUnread());
    poll.stage = RoutesPoll::Stage::kDue;
    BeginLists();
  }

  void BeginLists() {
    for (auto& [id, poll] : polls_) {
      if (lists_ >= kMaxLists) return;
      if (poll.stage != RoutesPoll::Stage::kDue) continue;
      ++lists_;
      poll.stage = RoutesPoll::Stage::kList;
      // A poll that waits also gets changes at its very revision (RoutePoll::after).
      std::optional<Revision> after = poll.question.after;
      if (after && after->value > 0) --after->value;
      AskServer(id, {.after = after}, std::numeric_limits<std::size_t>::max());
    }
  }

  // Answers the client, if it has not gone.
  void Finish(std::uint64_t id, Response response) {
    const auto poll = polls_.extract(id);
    if (poll.empty()) return;
    if (poll.mapped().connection != nullptr) poll.mapped().done(Within(std::move(response)));
    if (poll.mapped().stage != RoutesPoll::Stage::kList) return;
    --lists_;
    BeginLists();
  }

  tcp::endpoint Resolve(error_code& error) {
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(address_.host, std::to_string(address_.port),
                                        tcp::resolver::passive, error);
    return error ? tcp::endpoint() : found.begin()->endpoint();
  }

  void Accept() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](error_code error) {
      if (error == net::error::operation_aborted || !acceptor_.is_open()) return;
      auto socket = error ? std::nullopt : TakeConnection(acceptor_, error);
      if (error) return AcceptLater(error);
      if (socket) Admit(std::move(*socket));
      Accept();
    });
  }

  // Logs it from time to time, as long as it lasts.
  void SayFew(error_code why) {
    const auto now = std::chrono::steady_clock::now();
    if (few_said_ && now - *few_said_ < kSayFewAgain) return;
    few_said_ = now;
    log::Warn("HTTP connections are refused; if descriptors are few, raise the limit (ulimit -n)",
              {{"why", why.message()}});
  }

  void AcceptLater(error_code why) {
    SayFew(why);
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](error_code error) {
      if (!error) Accept();
    });
  }

  void Admit(tcp::socket socket) {
    access::Caller caller = access::CallerOfConnection(socket.native_handle());
    std::string client = access::LimitedAs(caller);
    if (!MayShakeHands(caller) || !HasRoom(socket.native_handle(), client)) return;  // closes it
    if (options_.access != nullptr && caller.user) options_.access->Expect(*caller.user);
    // The connection keeps OpenSSL's context; the texts may change meanwhile.
    const auto pems = options_.tls != nullptr ? options_.tls->Get() : nullptr;
    auto connection = std::make_shared<Connection>(
        std::move(socket), pems != nullptr ? pems->context.get() : nullptr, options_, *this);
    // Later the client may have closed its sending side, and then the kernel no longer says.
    connection->Know(std::move(caller));
    places_.Add(connection, std::move(client));
    connection->Start();
  }

  /// A handshake costs this thread more than all that a client pays for asking for one.
  bool MayShakeHands(const access::Caller& caller) const {
    return options_.tls == nullptr || options_.access == nullptr ||
           options_.access->TakeHandshake(caller);
  }

  /// False: all clients read their answers, or wait for them, or others hold the descriptors.
  bool HasRoom(int socket, const std::string& client) {
    using Room = ConnectionPlaces::Room;
    const bool scarce = IsReserved(socket);
    const Room room = places_.RoomFor(client);
    if (room == Room::kFree && !scarce) return true;
    if (scarce) SayFew(net::error::no_descriptors);
    ++(room == Room::kClient ? bounds_->clients : bounds_->connections);
    places_.MakeRoom(room == Room::kClient ? &client : nullptr);
    return !scarce && places_.RoomFor(client) == Room::kFree;
  }

  Response Render(const std::string& target) {
    if (stopping_) return ErrorResponse(503, target, "the server is stopping");
    try {
      return handler_->Answer(target);
    } catch (const std::exception& failure) {
      log::Error("an HTTP request failed", {{"target", target}, {"error", failure.what()}});
      return ErrorResponse(500, target, "internal error, see the log");
    }
  }

  void Stop() {
    stopping_ = true;
    {
      const std::lock_guard lock(gate_->mutex);
      gate_->server = nullptr;
    }
    if (thread_.joinable()) {
      std::promise<void> closed;
      net::post(io_, [&] {
        CloseAll();
        closed.set_value();
      });
      closed.get_future().wait();
    }
    // From here on nothing new is posted. Requests that wait for the node do so for at most a
    // second.
    workers_.join();
    if (thread_.joinable()) thread_.join();
  }

  void CloseAll() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    polls_.clear();
    places_.CloseAll();
  }

  const HttpOptions options_;
  const std::shared_ptr<BoundCounts> bounds_ = std::make_shared<BoundCounts>();
  Address address_;
  runtime::Control* control_ = nullptr;  // set before anything is answered
  std::unique_ptr<Handler> handler_;
  BodyBudget unread_;
  net::thread_pool workers_{kWorkers};
  net::io_context io_{1};
  tcp::acceptor acceptor_;
  net::steady_timer pause_;
  std::optional<std::chrono::steady_clock::time_point> few_said_;
  ConnectionPlaces places_;
  std::size_t waiting_ = 0;
  std::size_t lists_ = 0;                         // polls at stage kList
  std::shared_ptr<routing::RouteServer> routes_;  // null: no /v1/routes
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::map<std::uint64_t, RoutesPoll> polls_;  // at most kMaxPolls
  std::uint64_t last_poll_ = 0;
  std::vector<Follower> feeds_;  // at most kMaxFeeds
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Bind(HttpOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (const Status bound = impl->Bind(); !bound) return bound.error();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::Serve(runtime::Control& control, MetricsSources metrics,
                       std::shared_ptr<routing::RouteServer> routes) {
  impl_->Serve(control, std::move(metrics), std::move(routes));
}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options,
                                                      runtime::Control& control,
                                                      MetricsSources metrics) {
  Result<std::unique_ptr<HttpServer>> bound = Bind(std::move(options));
  if (bound) bound.value()->Serve(control, std::move(metrics));
  return bound;
}

std::uint16_t HttpServer::port() const { return impl_->address().port; }
HttpBounds HttpServer::bounds() const { return impl_->bounds(); }
std::string HttpServer::address() const { return FormatAddress(impl_->address()); }

}  // namespace baton::http
