#include "baton/router.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/endpoint.h"
#include "base/escape.h"
#include "base/limits.h"
#include "base/not_forked.h"
#include "base/text_rules.h"
#include "baton/credentials.h"
#include "baton/sharding.h"
#include "routing/client/channel_cache.h"
#include "routing/client/in_flight_attempts.h"
#include "routing/client/intercepted_calls.h"
#include "routing/client/request_ids.h"
#include "routing/client/route_follower.h"
#include "routing/client/route_store.h"
#include "routing/client/router_call.h"
#include "routing/lookup_key.h"
#include "routing/request_metadata.h"

namespace baton {
namespace {

using routing::kLongestKey;
using routing::RouteTable;

constexpr std::size_t kLongestClient = 64;
constexpr std::chrono::milliseconds kLeastSilence{10};
constexpr Duration kSweepEvery = std::chrono::seconds(30);
constexpr Duration kLookAtCredentials = std::chrono::milliseconds(250);

// gRPC's own names for addresses. It resolves them, as it does host:port.
bool IsGrpcTarget(const std::string& endpoint) {
  constexpr std::string_view kSchemes[] = {"unix:", "unix-abstract:", "dns:", "ipv4:", "ipv6:"};
  return routing::IsVisibleText(endpoint, kLongestAddress) &&
         std::any_of(std::begin(kSchemes), std::end(kSchemes),
                     [&](std::string_view scheme) { return endpoint.starts_with(scheme); });
}

Status Check(const RouterOptions& options) {
  const auto bad = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message)};
  };
  if (!routing::IsVisibleText(options.group, kLongestName)) {
    return bad(fmt::format("group '{}' is not a valid name; give 1 to {} visible ASCII characters",
                           OneLine(options.group, kLongestName), kLongestName));
  }
  if (options.endpoints.empty() || options.endpoints.size() > kMaxEndpoints) {
    return bad(fmt::format("{} endpoints are given; give 1 to {} gRPC addresses of nodes or relays",
                           options.endpoints.size(), kMaxEndpoints));
  }
  for (const std::string& endpoint : options.endpoints) {
    if (IsGrpcTarget(endpoint)) continue;
    if (Status checked = CheckEndpoint(endpoint, kNodePort); !checked) {
      const bool tls = endpoint.starts_with("https://");
      return bad("endpoint " + checked.error().message +
                 (tls ? " (TLS: set RouterOptions::group_credentials)" : ""));
    }
    if (!IsPeerEndpoint(endpoint)) {
      return bad(
          fmt::format("endpoint \"{}\" is a URI to gRPC, not a host; write the host's "
                      "address, such as 10.0.0.7:{}",
                      endpoint, kNodePort));
    }
  }
  if (options.credentials != nullptr && options.group_credentials != nullptr) {
    return bad("credentials and group_credentials are given; give one of them");
  }
  if (!options.client.empty() && !routing::IsVisibleText(options.client, kLongestClient)) {
    return bad(fmt::format("client '{}' is invalid; give at most {} visible ASCII characters",
                           OneLine(options.client, kLongestClient), kLongestClient));
  }
  if (options.silence < kLeastSilence || options.silence > kLongestDurationOption) {
    return bad(fmt::format("silence is {} ms; give {} ms to {} ms (366 days)",
                           options.silence.count(), kLeastSilence.count(),
                           kLongestDurationOption.count()));
  }
  return Ok();
}

grpc::Status Check(const CallOptions& options) {
  const auto bad = [](const std::string& message) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, message);
  };
  if (options.deadline.count() <= 0) return bad("the call's deadline must be above 0");
  if (options.attempt.count() < 0) return bad("the time of an attempt must not be negative");
  if (options.max_hops < 0) return bad("max_hops must not be negative");
  if (!options.request_id.empty() &&
      !routing::IsVisibleText(options.request_id, routing::kLongestRequestId)) {
    return bad(fmt::format("the request id is invalid; give at most {} visible ASCII characters",
                           routing::kLongestRequestId));
  }
  return grpc::Status::OK;
}

bool IsKey(std::string_view key) { return !key.empty() && key.size() <= kLongestKey; }

}  // namespace

class Router::Impl {
 public:
  explicit Impl(RouterOptions options)
      : group_(std::move(options.group)),
        addresses_(options.unix_leaders ? routing::LeaderAddresses::kUnixSocketsToo
                                        : routing::LeaderAddresses::kHostsAndPorts),
        store_(group_, addresses_),
        ids_(std::make_shared<routing::RequestIds>(options.client)),
        intercepted_calls_(std::make_shared<routing::InterceptedCalls>(group_, store_, ids_)),
        group_credentials_(std::move(options.group_credentials)),
        channels_(options.credentials),
        followed_(options.credentials),
        follower_({.endpoints = std::move(options.endpoints),
                   .credentials = options.credentials,
                   .silence = options.silence},
                  store_, [this](TimePoint now, bool changed) { return Chores(now, changed); }) {}
  ~Impl() { intercepted_calls_->Leave(); }

  const RouteTable* table() const noexcept { return store_.table(); }
  Route Owner(ShardId shard) const noexcept;
  std::optional<Route> Owner(std::string_view key) const noexcept;
  std::vector<RouteStandby> Standbys(const CallTarget& target) const;
  Status WaitReady(std::chrono::milliseconds timeout);
  Result<ShardId> ShardFor(std::string_view key) const;
  Result<Route> Mark(grpc::ClientContext& context, const CallTarget& target) const;
  const std::shared_ptr<routing::InterceptedCalls>& intercepted_calls() const {
    return intercepted_calls_;
  }
  RoutesAge Age() const { return follower_.Age(); }
  RouterCounters counters() const;
  void SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials);
  grpc::Status Call(const CallTarget& target, const Attempt& attempt, const CallOptions& options);
  void Stop();

 private:
  // One call at work, which Stop waits for. An object, so that it also ends if an attempt throws.
  class AtWork {
   public:
    explicit AtWork(Impl& router) : router_(router) {
      const std::lock_guard lock(router_.mutex_);
      ++router_.calls_;
    }
    ~AtWork() {
      const std::lock_guard lock(router_.mutex_);
      if (--router_.calls_ == 0) router_.left_.notify_all();
    }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

   private:
    Impl& router_;
  };

  TimePoint Chores(TimePoint now, bool changed);
  void FollowCredentials();
  void Use(std::shared_ptr<grpc::ChannelCredentials> credentials);
  grpc::Status Refused(grpc::Status status);
  grpc::Status NotReady();
  Error NotRead() const;
  Result<ShardId> ShardOf(const CallTarget& target) const;
  grpc::Status CallChecked(const CallTarget& target, const Attempt& attempt,
                           const CallOptions& options);

  const std::string group_;
  const routing::LeaderAddresses addresses_;
  routing::RouteStore store_;
  const std::shared_ptr<routing::RequestIds> ids_;
  const std::shared_ptr<routing::InterceptedCalls> intercepted_calls_;
  const std::shared_ptr<const GroupCredentials> group_credentials_;  // null: not given
  std::mutex credentials_mutex_;  // calls and the stream of routes get the same ones, in order
  routing::ChannelCache channels_;
  routing::InFlightAttempts in_flight_attempts_;
  routing::CallCounters counters_;
  // Only the follower's thread uses these two.
  std::shared_ptr<grpc::ChannelCredentials> followed_;  // the newest of group_credentials_
  TimePoint next_sweep_ = TimePoint::min();
  const routing::CallParts parts_{.group = group_,
                                  .store = store_,
                                  .channels = channels_,
                                  .in_flight_attempts = in_flight_attempts_,
                                  .counters = counters_,
                                  .addresses = addresses_};

  std::mutex mutex_;  // guards what follows, up to stop_
  std::condition_variable left_;
  std::uint64_t calls_ = 0;  // calls at work
  std::once_flag stop_;
  routing::RouteFollower follower_;  // last, because its thread uses the other members
};

TimePoint Router::Impl::Chores(TimePoint now, bool changed) {
  if (changed) {
    in_flight_attempts_.Compare([this](ShardId shard) { return store_.Find(shard).route.term; },
                                now);
  }
  if (now >= next_sweep_) {
    channels_.Sweep(now);
    next_sweep_ = now + kSweepEvery;
  }
  const TimePoint next =
      std::min(next_sweep_, in_flight_attempts_.EndDue(now).value_or(TimePoint::max()));
  if (group_credentials_ == nullptr) return next;
  FollowCredentials();
  return std::min(next, now + kLookAtCredentials);
}

void Router::Impl::FollowCredentials() {
  auto newest = group_credentials_->Get();
  if (newest == followed_) return;
  followed_ = newest;
  Use(std::move(newest));
}

Status Router::Impl::WaitReady(std::chrono::milliseconds timeout) {
  const auto refused = [this] { return follower_.refused_by_all(); };
  timeout = std::clamp(timeout, std::chrono::milliseconds(0), kLongestTimeout);
  if (store_.AwaitComplete(BootClock::now() + timeout, refused)) return Ok();
  if (store_.closed()) return Error{ErrorCode::kUnavailable, "the router was stopped"};
  const std::string problem = follower_.Age().problem;
  if (follower_.refused_by_all()) {
    return Error{ErrorCode::kFailedPrecondition,
                 "no endpoint serves this group's routes: " + problem};
  }
  return Error{ErrorCode::kTimedOut,
               fmt::format("the routes of group {} were not read yet{}", group_,
                           problem.empty() ? "; is an endpoint reachable?" : ": " + problem)};
}

Result<ShardId> Router::Impl::ShardFor(std::string_view key) const {
  const RouteTable* table = store_.table();
  if (table == nullptr) return NotRead();
  return routing::ShardOfKey(key, table->mapping().hash, table->mapping().shards);
}

Result<ShardId> Router::Impl::ShardOf(const CallTarget& target) const {
  if (!target.shard()) return ShardFor(target.key());
  const RouteTable* table = store_.table();
  if (table == nullptr) return NotRead();
  const std::uint32_t shards = table->mapping().shards;
  if (target.shard()->value < shards) return *target.shard();
  return Error{ErrorCode::kInvalidArgument, fmt::format("no shard {}: group {} has shards 0 to {}",
                                                        target.shard()->value, group_, shards - 1)};
}

Result<Route> Router::Impl::Mark(grpc::ClientContext& context, const CallTarget& target) const {
  const Result<ShardId> shard = ShardOf(target);
  if (!shard) return shard.error();
  routing::AddMetadata(context, {.group = group_, .shard = shard.value()});
  return store_.Find(shard.value()).route;
}

Error Router::Impl::NotRead() const {
  return {ErrorCode::kUnavailable, "no routes of group " + group_ + " were read yet"};
}

Route Router::Impl::Owner(ShardId shard) const noexcept {
  const RouteTable* const table = store_.table();
  return table == nullptr ? Route{.shard = shard} : table->Find(shard);
}

std::optional<Route> Router::Impl::Owner(std::string_view key) const noexcept {
  const RouteTable* const table = store_.table();
  if (table == nullptr || !IsKey(key)) return std::nullopt;
  const auto shard = baton::ShardFor(key, table->mapping().hash, table->mapping().shards);
  if (!shard) return std::nullopt;
  return table->Find(*shard);
}

std::vector<RouteStandby> Router::Impl::Standbys(const CallTarget& target) const {
  const Result<ShardId> shard = ShardOf(target);
  if (!shard) return {};
  return store_.table()->StandbysOf(shard.value());
}

RouterCounters Router::Impl::counters() const {
  const auto get = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  return {.ok = get(counters_.ok),
          .failed = get(counters_.failed),
          .refused = get(counters_.refused),
          .unavailable = get(counters_.unavailable),
          .unknown = get(counters_.unknown),
          .attempts = get(counters_.attempts),
          .misroutes = get(counters_.misroutes),
          .redirects = get(counters_.redirects),
          .waits = get(counters_.waits),
          .superseded = get(counters_.superseded),
          .intercepted_calls = intercepted_calls_->calls(),
          .intercepted_misroutes = intercepted_calls_->misroutes(),
          .reconnects = follower_.reconnects(),
          .snapshots = follower_.snapshots(),
          .resumes = follower_.resumes()};
}

void Router::Impl::SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials) {
  BATON_CHECK(credentials != nullptr && group_credentials_ == nullptr);
  Use(std::move(credentials));
}

void Router::Impl::Use(std::shared_ptr<grpc::ChannelCredentials> credentials) {
  const std::lock_guard lock(credentials_mutex_);
  channels_.SetCredentials(credentials);
  follower_.SetCredentials(std::move(credentials));
}

grpc::Status Router::Impl::Call(const CallTarget& target, const Attempt& attempt,
                                const CallOptions& options) {
  const AtWork at_work(*this);
  return CallChecked(target, attempt, options);
}

grpc::Status Router::Impl::CallChecked(const CallTarget& target, const Attempt& attempt,
                                       const CallOptions& options) {
  if (grpc::Status checked = Check(options); !checked.ok()) return Refused(std::move(checked));
  const TimePoint deadline = BootClock::now() + std::min(options.deadline, kLongestTimeout);
  const auto refused = [this] { return follower_.refused_by_all(); };
  if (table() == nullptr && !store_.AwaitComplete(deadline, refused)) return NotReady();
  const Result<ShardId> shard = ShardOf(target);
  if (!shard) return Refused({grpc::StatusCode::INVALID_ARGUMENT, shard.error().message});
  std::string request_id = options.request_id.empty() ? ids_->Next() : options.request_id;
  return routing::RouterCall(parts_, shard.value(), deadline, options, std::move(request_id))
      .Run(attempt);
}

grpc::Status Router::Impl::Refused(grpc::Status status) {
  counters_.refused.fetch_add(1, std::memory_order_relaxed);
  return status;
}

grpc::Status Router::Impl::NotReady() {
  counters_.unavailable.fetch_add(1, std::memory_order_relaxed);
  const Status ready = WaitReady(std::chrono::milliseconds(0));
  return {grpc::StatusCode::UNAVAILABLE,
          ready ? "the routes of group " + group_ + " came too late" : ready.error().message};
}

// Calls must end first, because they use the routes that the follower keeps up to date.
void Router::Impl::Stop() {
  std::call_once(stop_, [this] {
    store_.Close();
    in_flight_attempts_.Close();
    {
      std::unique_lock lock(mutex_);
      left_.wait(lock, [this] { return calls_ == 0; });
    }
    follower_.Stop();
  });
}

// ---- the facade --------------------------------------------------------------------------------

Result<std::unique_ptr<Router>> Router::Start(RouterOptions options) {
  if (Status checked = Check(options); !checked) return checked.error();
  if (Status checked = CheckNotForked(); !checked) return checked.error();
  if (options.group_credentials != nullptr) options.credentials = options.group_credentials->Get();
  if (options.credentials == nullptr) options.credentials = grpc::InsecureChannelCredentials();
  return std::unique_ptr<Router>(new Router(std::make_unique<Impl>(std::move(options))));
}

Router::Router(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Router::~Router() { Stop(); }

Status Router::WaitReady(std::chrono::milliseconds timeout) { return impl_->WaitReady(timeout); }
Result<ShardId> Router::ShardFor(std::string_view key) const { return impl_->ShardFor(key); }

Route Router::Owner(ShardId shard) const noexcept { return impl_->Owner(shard); }
std::optional<Route> Router::Owner(std::string_view key) const noexcept {
  return impl_->Owner(key);
}

std::vector<RouteStandby> Router::Standbys(const CallTarget& target) const {
  return impl_->Standbys(target);
}

RoutesAge Router::Age() const { return impl_->Age(); }
RouterCounters Router::counters() const { return impl_->counters(); }

void Router::SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials) {
  impl_->SetCredentials(std::move(credentials));
}

grpc::Status Router::CallWith(const CallTarget& target, const Attempt& attempt,
                              const CallOptions& options) {
  return impl_->Call(target, attempt, options);
}

Result<Route> Router::Mark(grpc::ClientContext& context, const CallTarget& target) const {
  return impl_->Mark(context, target);
}

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> Router::InterceptorFactory()
    const {
  return routing::InterceptorFactoryOf(impl_->intercepted_calls());
}

void Router::Stop() { impl_->Stop(); }

}  // namespace baton
