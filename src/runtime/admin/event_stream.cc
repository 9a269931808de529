#include "runtime/admin/event_stream.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "baton/v1/admin.grpc.pb.h"
#include "runtime/admin/history_proto.h"
#include "runtime/admin/proto_time.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kBatch = 1'000;   // events in a message: far below gRPC's limit of 4 MiB
constexpr std::uint64_t kUntold = 500;  // events of other shards until an empty message is sent
// How long a node that stops waits until readers have read its last events.
constexpr Duration kLastWords = std::chrono::seconds(1);

/// Ends with an error at once.
class Refused final : public EventStreams::Reactor {
 public:
  explicit Refused(const grpc::Status& why) { Finish(why); }
  void OnDone() override { delete this; }
};

}  // namespace

/// One caller. It deletes itself in OnDone. All methods except the On... ones run on the thread.
class EventStreams::Stream final : public Reactor {
 public:
  Stream(EventStreams& owner, grpc::CallbackServerContext& context, StreamId id,
         access::StreamPlaces::Place place)
      : owner_(owner), context_(context), id_(id), place_(std::move(place)) {}

  void Begin(const v1::WatchEventsRequest& request) {
    const HistoryPage now = owner_.history_->Read({.limit = 0});
    if (request.has_shard()) shard_ = ShardId{request.shard()};
    const auto started = TimestampOf(now.started);  // theirs may not be a valid time
    const bool foreign =
        request.has_started() && (request.started().seconds() != started.seconds() ||
                                  request.started().nanos() != started.nanos());
    const std::uint64_t after = request.has_after() ? request.after() : now.last;
    reset_ = foreign || after > now.last || after + 1 < now.first;
    after_ = reset_ ? now.first - 1 : after;
  }

  bool writing() const { return writing_; }
  std::uint64_t after() const { return after_; }
  void Break() {
    broken_ = true;
    context_.TryCancel();
  }
  /// Since when its caller has not taken what was sent; unset: it has, or the stream is broken.
  std::optional<TimePoint> unread_since() const {
    return writing_ && !broken_ ? std::optional(written_at_) : std::nullopt;
  }

  /// Sends the events that there are. The first message is sent even if there are none.
  void Send() {
    const HistoryPage page =
        owner_.history_->Read({.after = after_, .limit = kBatch, .shard = shard_});
    const bool reset = std::exchange(reset_, false) || after_ + 1 < page.first;
    after_ = page.upto;
    // A follower of one shard learns from time to time how far it has got, to continue from there.
    const bool nothing = !reset && page.events.empty() && after_ < told_ + kUntold;
    if (std::exchange(begun_, true) && nothing) return;
    told_ = after_;
    v1::WatchEventsResponse message;
    ToProto(page, &message);
    message.set_reset(reset);
    bool own = false;
    message_.Clear();  // Serialize expects an empty buffer
    // It fails only for messages of 2 GiB.
    (void)grpc::SerializationTraits<v1::WatchEventsResponse>::Serialize(message, &message_, &own);
    writing_ = true;
    written_at_ = BootClock::now();
    StartWrite(&message_);
  }

  void Written(bool sent) {
    writing_ = false;
    if (!sent || cancelled_) owner_.Remove(id_, grpc::Status::CANCELLED);
  }
  void Cancelled() {
    cancelled_ = true;
    if (!writing_) owner_.Remove(id_, grpc::Status::CANCELLED);
  }

  // Called by gRPC.
  void OnWriteDone(bool sent) override {
    Tell([sent](Stream& stream) { stream.Written(sent); });
  }
  void OnCancel() override {
    Tell([](Stream& stream) { stream.Cancelled(); });
  }
  void OnDone() override {
    owner_.Ended();
    delete this;
  }

 private:
  /// Runs `what` on the thread, unless the stream was asked to end by then.
  void Tell(std::function<void(Stream&)> what) {
    owner_.Post([&owner = owner_, id = id_, what = std::move(what)] {
      const auto found = owner.streams_.find(id);
      if (found != owner.streams_.end()) what(*found->second);
    });
  }

  EventStreams& owner_;
  grpc::CallbackServerContext& context_;  // lives until OnDone
  const StreamId id_;
  const access::StreamPlaces::Place place_;
  std::optional<ShardId> shard_;
  std::uint64_t after_ = 0;
  std::uint64_t told_ = 0;  // the last message had the events up to this one
  bool reset_ = false;
  bool begun_ = false;
  bool writing_ = false;
  TimePoint written_at_{};
  bool broken_ = false;
  bool cancelled_ = false;
  grpc::ByteBuffer message_;  // the last one that was sent
};

void PingCallers(grpc::ServerBuilder& builder, CallerPings pings) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(pings.every.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             static_cast<int>(pings.patience.count()));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no bound
}

EventStreams::~EventStreams() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

EventStreams::Reactor* EventStreams::Refuse(const grpc::Status& why) { return new Refused(why); }

EventStreams::Reactor* EventStreams::Watch(grpc::CallbackServerContext& context,
                                           const grpc::ByteBuffer& bytes,
                                           access::StreamPlaces::Place place) {
  grpc::ByteBuffer copy(bytes);
  v1::WatchEventsRequest request;
  if (!grpc::SerializationTraits<v1::WatchEventsRequest>::Deserialize(&copy, &request).ok()) {
    return Refuse({grpc::StatusCode::INVALID_ARGUMENT,
                   "the request is not a baton.v1.WatchEventsRequest: see admin.proto"});
  }
  request.DiscardUnknownFields();
  if (history_ == nullptr) {
    return Refuse({grpc::StatusCode::NOT_FOUND, "this process keeps no history"});
  }
  const std::lock_guard lock(mutex_);
  if (open_ >= kMaxEventStreams) {
    return Refuse(
        {grpc::StatusCode::RESOURCE_EXHAUSTED,
         "too many callers follow this node's events: ask another node, or try again later"});
  }
  if (!thread_.joinable() && !StartThread()) {
    return Refuse({grpc::StatusCode::RESOURCE_EXHAUSTED,
                   "this node can't start a thread to serve events: try again later"});
  }
  const StreamId id = ++last_stream_;
  auto* const stream = new Stream(*this, context, id, std::move(place));
  ++open_;
  tasks_.push_back([this, id, stream, request] {
    stream->Begin(request);
    streams_.emplace(id, stream);
  });
  changed_.notify_all();
  return stream;
}

bool EventStreams::StartThread() {
  try {
    thread_ = std::thread([this] { Run(); });
    return true;
  } catch (const std::system_error&) {
    return false;  // the process, or its user, has no thread left
  }
}

void EventStreams::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void EventStreams::Ended() {
  const std::lock_guard lock(mutex_);
  --open_;
}

void EventStreams::Run() {
  while (true) {
    std::vector<std::function<void()>> tasks;
    {
      std::unique_lock lock(mutex_);
      const auto something = [this] { return ending_ || more_ || !tasks_.empty(); };
      const TimePoint next = std::min(break_at_, look_at_);
      if (next == TimePoint::max()) {
        changed_.wait(lock, something);
      } else {
        changed_.wait_for(lock, std::max(Duration{0}, next - BootClock::now()), something);
      }
      tasks = std::exchange(tasks_, {});
      more_ = false;
      if (ending_ && tasks.empty()) break;
    }
    for (const auto& task : tasks) task();
    Advance();
    AwaitMore();
  }
  if (history_ != nullptr) history_->Cancel(waiting_);
}

void EventStreams::Advance() {
  const TimePoint now = BootClock::now();
  const bool closed = history_->closed();
  if (closed && break_at_ == TimePoint::max()) break_at_ = now + kLastWords;
  const bool late = now >= break_at_;
  const std::map<StreamId, Stream*> streams = streams_;
  for (const auto& [id, stream] : streams) {
    if (!stream->writing()) stream->Send();
    if (!closed) continue;
    if (!stream->writing()) {
      Remove(id, {grpc::StatusCode::UNAVAILABLE, "the node has stopped; ask another"});
    } else if (late) {
      stream->Break();  // else a caller that does not read would delay the server's end
    }
  }
  if (late || streams_.empty()) break_at_ = TimePoint::max();
  CutOffReaders(now);
}

void EventStreams::CutOffReaders(TimePoint now) {
  look_at_ = TimePoint::max();
  for (const auto& [id, stream] : streams_) {
    const auto since = stream->unread_since();
    if (!since) continue;
    if (now >= *since + unread_for_) {
      stream->Break();
    } else {
      look_at_ = std::min(look_at_, *since + unread_for_);
    }
  }
}

void EventStreams::AwaitMore() {
  history_->Cancel(waiting_);
  std::uint64_t after = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [id, stream] : streams_) {
    if (!stream->writing()) after = std::min(after, stream->after());
  }
  if (streams_.empty() || history_->closed()) return;
  waiting_ = history_->Await(after, [this] {
    const std::lock_guard lock(mutex_);
    more_ = true;
    changed_.notify_all();
  });
}

void EventStreams::Remove(StreamId id, const grpc::Status& why) {
  const auto found = streams_.extract(id);
  if (!found.empty()) found.mapped()->Finish(why);
}

}  // namespace baton::runtime
