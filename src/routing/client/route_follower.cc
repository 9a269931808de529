#include "routing/client/route_follower.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/channel_arguments.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/grpc/channel_limits.h"
#include "base/status_code.h"
#include "base/text_rules.h"
#include "baton/v1/routing.grpc.pb.h"
#include "routing/client/channel_cache.h"

namespace baton::routing {
namespace {

constexpr Duration kFirstWait = std::chrono::milliseconds(50);
constexpr Duration kLongestWait = std::chrono::seconds(5);
// A stream that lasted this long does not count as a failed attempt.
constexpr Duration kLasting = std::chrono::seconds(1);
constexpr Duration kLongestTurn = std::chrono::seconds(1);

// A longer age counts as this: as nanoseconds it might overflow.
constexpr std::chrono::seconds kLongestAge = std::chrono::hours(24 * 365);

Duration AgeOf(const v1::WatchRoutesResponse& message) {
  const auto seconds = std::clamp(std::chrono::seconds(message.age().seconds()),
                                  std::chrono::seconds(0), kLongestAge);
  return seconds + std::chrono::nanoseconds(std::clamp(message.age().nanos(), 0, 999'999'999));
}

std::string Describe(const grpc::Status& status) {
  if (status.ok()) return "ended the stream of routes";
  return fmt::format("failed: {}{}{}", StatusCodeName(status.error_code()),
                     status.error_message().empty() ? "" : ": ", status.error_message());
}

bool IsRefusal(ErrorCode code) {
  return code == ErrorCode::kNotFound || code == ErrorCode::kFailedPrecondition;
}

}  // namespace

/// One attempt at one endpoint. Exactly one gRPC operation is pending at any time.
struct RouteFollower::Stream {
  enum class Stage { kStarting, kReading, kFinishing };

  std::size_t endpoint = 0;
  std::unique_ptr<v1::RoutingService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncReader<v1::WatchRoutesResponse>> reader;
  v1::WatchRoutesResponse message;
  grpc::Status status;
  Stage stage = Stage::kStarting;
  TimePoint opened{};
  TimePoint heard{};
  std::optional<TimePoint> stale_since;  // unset: the endpoint says that it is current
  bool left = false;                     // cancelled by the router
  bool renewed = false;                  // left for new credentials, not for another endpoint
  bool doubted = false;                  // left to read all routes of the same endpoint
};

RouteFollower::RouteFollower(FollowerOptions options, RouteStore& store, Chores chores)
    : options_(std::move(options)),
      store_(store),
      chores_(std::move(chores)),
      order_(options_.endpoints.size()),
      random_(std::random_device{}()) {
  BATON_CHECK(!options_.endpoints.empty() && options_.credentials != nullptr);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::shuffle(order_.begin(), order_.end(), random_);
  shown_.refused.resize(order_.size(), false);
  thread_ = std::thread([this] { Run(); });
}

RouteFollower::~RouteFollower() { Stop(); }

void RouteFollower::Stop() {
  if (stopped_.exchange(true)) return;
  wake_.Set(&queue_, gpr_now(GPR_CLOCK_MONOTONIC), nullptr);
  thread_.join();
}

// The queue is the thread's own. gRPC's callback threads can sleep for up to 100 ms (see
// etcd/grpc/callback_ticker.h), and calls that wait for a route would wait for them.
void RouteFollower::Run() {
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    const TimePoint now = BootClock::now();
    Turn(now);
    const Duration left = std::max(Duration{0}, NextTurn(now) - now);
    if (queue_.AsyncNext(&tag, &ok, MonotonicDeadline(left)) != grpc::CompletionQueue::GOT_EVENT) {
      continue;
    }
    if (tag == nullptr) break;  // Stop rang the alarm, so nobody else uses the queue any more
    OnEvent(ok, BootClock::now());
  }
  if (stream_ != nullptr) Leave("was disconnected: the router was stopped", false);
  queue_.Shutdown();
  while (queue_.Next(&tag, &ok)) {
    // After Shutdown nothing new may begin, so only the pending operation is left.
  }
  stream_.reset();
}

void RouteFollower::SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials) {
  const std::lock_guard lock(mutex_);
  new_credentials_ = std::move(credentials);
}

// An endpoint that refused the earlier credentials may take the new ones, so it is tried at once.
// Until the next stream has begun or failed, Age says what it said: the endpoint did nothing wrong.
void RouteFollower::TakeCredentials(TimePoint now) {
  {
    const std::lock_guard lock(mutex_);
    if (new_credentials_ == nullptr) return;
    options_.credentials = std::exchange(new_credentials_, nullptr);
  }
  failures_ = 0;
  next_attempt_ = now;
  if (stream_ == nullptr || stream_->left) return;
  stream_->left = stream_->renewed = true;
  stream_->context.TryCancel();
}

void RouteFollower::Turn(TimePoint now) {
  TakeCredentials(now);
  if (stream_ == nullptr && now >= next_attempt_) Open(now);
  if (stream_ != nullptr && !stream_->left && now >= stream_->heard + options_.silence) {
    Leave(fmt::format(
              "sent nothing for {} ms",
              std::chrono::duration_cast<std::chrono::milliseconds>(options_.silence).count()),
          false);
  }
  if (LeaveStaleAt() <= now) Leave("reports that its routes are stale: it can't reach etcd", false);
  store_.PublishDue(now);
  if (now >= next_chores_ || changed_) next_chores_ = chores_(now, std::exchange(changed_, false));
}

TimePoint RouteFollower::NextTurn(TimePoint now) const {
  TimePoint next = std::min(now + kLongestTurn, next_chores_);
  if (stream_ == nullptr) next = std::min(next, next_attempt_);
  if (stream_ != nullptr && !stream_->left) {
    next = std::min({next, stream_->heard + options_.silence, LeaveStaleAt()});
  }
  if (const auto publish = store_.next_publish()) next = std::min(next, *publish);
  return next;
}

// Another endpoint may be current. A single endpoint is kept: stale routes are better than none.
TimePoint RouteFollower::LeaveStaleAt() const {
  const bool stale = stream_ != nullptr && !stream_->left && stream_->stale_since;
  if (!stale || options_.endpoints.size() == 1) return TimePoint::max();
  return *stream_->stale_since + options_.silence;
}

void RouteFollower::Open(TimePoint now) {
  grpc::ChannelArguments arguments = ChannelArguments();
  arguments.SetMaxReceiveMessageSize(kLongestMessage);
  LimitChannel(arguments);
  stream_ = std::make_unique<Stream>();
  stream_->endpoint = order_[turn_ % order_.size()];
  stream_->stub = v1::RoutingService::NewStub(
      OpenChannel(options_.endpoints[stream_->endpoint], options_.credentials, arguments));
  stream_->opened = stream_->heard = now;
  stream_->reader =
      stream_->stub->PrepareAsyncWatchRoutes(&stream_->context, store_.BeginStream(), &queue_);
  stream_->reader->StartCall(stream_.get());
}

void RouteFollower::OnEvent(bool ok, TimePoint now) {
  Stream& stream = *stream_;
  if (stream.stage == Stream::Stage::kFinishing) return OnEnded(now);
  if (ok && stream.stage == Stream::Stage::kReading && !stream.left) OnMessage(now);
  if (ok && !stream.left) {
    stream.stage = Stream::Stage::kReading;
    // A message that is parsed into again keeps what each earlier one had at most.
    stream.message = v1::WatchRoutesResponse();
    stream.reader->Read(&stream.message, &stream);
    return;
  }
  // If the stream was cancelled, messages that still arrive are ignored.
  stream.stage = Stream::Stage::kFinishing;
  stream.reader->Finish(&stream.status, &stream);
}

// Holds the follower's mutex while the store merges: threads that Merge wakes then read the new
// Age.
void RouteFollower::OnMessage(TimePoint now) {
  Stream& stream = *stream_;
  const v1::WatchRoutesResponse& message = stream.message;
  std::unique_lock lock(mutex_);
  const Result<RouteStore::Merged> merged = store_.Merge(message, now);
  if (!merged) {
    lock.unlock();
    return Leave(merged.error().message, IsRefusal(merged.error().code));
  }
  if (merged.value().doubted) {
    lock.unlock();
    stream.doubted = true;
    return Leave("has other routes than an earlier server told, so all are read again", false);
  }
  stream.heard = now;
  changed_ |= merged.value().changed;
  if (merged.value().begun_stream) {
    (merged.value().resumed ? resumes_ : snapshots_).fetch_add(1, std::memory_order_relaxed);
    shown_.server = OneLine(message.server(), kLongestName);
    shown_.problem.clear();
    shown_.refused[stream.endpoint] = false;
    refused_by_all_.store(false);
  }
  if (message.complete_to() == 0) return;  // the snapshot is not complete yet
  shown_.age = AgeOf(message);
  shown_.arrived = now;
  shown_.stale = message.stale();
  if (!message.stale()) {
    stream.stale_since.reset();
  } else if (!stream.stale_since) {
    stream.stale_since = now;
  }
}

void RouteFollower::Leave(const std::string& problem, bool refused) {
  stream_->left = true;
  stream_->context.TryCancel();
  const std::lock_guard lock(mutex_);
  shown_.problem = options_.endpoints[stream_->endpoint] + " " + OneLine(problem, kLongestLine);
  shown_.refused[stream_->endpoint] = refused;
  shown_.server.clear();
  shown_.stale = true;
  refused_by_all_.store(std::find(shown_.refused.begin(), shown_.refused.end(), false) ==
                        shown_.refused.end());
}

void RouteFollower::OnEnded(TimePoint now) {
  if (!stream_->left) {
    Leave(Describe(stream_->status), stream_->status.error_code() == grpc::StatusCode::NOT_FOUND);
  }
  // A stale endpoint counts as failed. So, while all are stale, the router switches less and less
  // often.
  const bool lasted = now - stream_->opened >= kLasting && !stream_->stale_since;
  // A stream that was doubted tells nothing about its endpoint, and the next one can't be.
  if (!stream_->doubted) failures_ = lasted || stream_->renewed ? 0 : failures_ + 1;
  const bool same_again = stream_->renewed || stream_->doubted;
  stream_.reset();
  if (!same_again) ++turn_;
  next_attempt_ = same_again ? now : now + Jittered();
  reconnects_.fetch_add(1, std::memory_order_relaxed);
  store_.Nudge();
}

Duration RouteFollower::Jittered() {
  const std::size_t rounds = std::min<std::size_t>(failures_ / order_.size(), 10);
  const Duration longest = std::min(kLongestWait, kFirstWait * (1 << rounds));
  return Duration{std::uniform_int_distribution<std::int64_t>(0, longest.count())(random_)};
}

RoutesAge RouteFollower::Age() const {
  RoutesAge age;
  const std::lock_guard lock(mutex_);
  age.revision = store_.revision();
  if (shown_.arrived != TimePoint::min()) {
    age.age = shown_.age + (BootClock::now() - shown_.arrived);
  }
  // A stream may begin with a long snapshot, while shown_ has what the last one said.
  age.stale = shown_.stale || age.revision == Revision{};
  age.server = shown_.server;
  age.problem = shown_.problem;
  return age;
}

}  // namespace baton::routing
