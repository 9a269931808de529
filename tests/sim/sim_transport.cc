#include "sim/sim_transport.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace baton::sim {
namespace {

using etcd::CallStatus;

// As GrpcTransport has them.
constexpr Duration kUnaryBound = milliseconds(2000);
constexpr Duration kLeastAttempt = milliseconds(5);
constexpr Duration kTellingMiss = milliseconds(250);
constexpr Duration kPingBound = seconds(13);

constexpr Duration kLateMost = seconds(6);
constexpr Duration kTwiceMost = seconds(3);
constexpr Duration kReplyLateMost = seconds(2);
constexpr Duration kStreamLateMost = milliseconds(1500);

const Failure kNoConnection{kCodeUnavailable, "failed to connect to all addresses"};
const Failure kBroken{kCodeUnavailable, "connection reset by peer"};

std::string AddressOf(int member) { return "etcd" + std::to_string(member) + ":2379"; }

bool NeverServed(const Failure& failure) { return failure.message == kNoConnection.message; }

CallStatus StatusOf(const Failure& failure) {
  CallStatus status;
  status.code = failure.code;
  status.message = failure.message;
  const bool refused = failure.code == kCodeInvalidArgument || failure.code == kCodeNotFound ||
                       failure.code == kCodeFailedPrecondition || failure.code == kCodeOutOfRange;
  status.outcome = refused ? Outcome::kRefused : Outcome::kUnknown;
  status.too_many_operations =
      refused && failure.message.find("too many operations") != std::string::npos;
  status.permanent = failure.code == kCodeInvalidArgument && !status.too_many_operations;
  return status;
}

}  // namespace

struct SimTransport::Stream {
  std::uint64_t id = 0;
  int member = 0;
  bool open = true;
  TimePoint out_at{};  ///< no message arrives before the one sent before it
  TimePoint in_at{};
  std::function<void(CallStatus)> ended = {};
  WatchId watch = 0;
};

SimTransport::SimTransport(World& world, EtcdModel& etcd, Host& host, const NetworkFaults& faults)
    : world_(world),
      etcd_(etcd),
      host_(host),
      faults_(faults),
      random_(world.random().Fork()),
      book_(EtcdModel::kMembers, random_.Below(EtcdModel::kMembers)) {}

SimTransport::~SimTransport() { Abandon(); }

void SimTransport::Abandon() {
  for (auto& [id, call] : std::exchange(calls_, {})) {
    call->launch = nullptr;
    call->fail = nullptr;
  }
  for (auto& [id, stream] : std::exchange(streams_, {})) {
    stream->open = false;
    stream->ended = nullptr;
    if (stream->watch != 0) etcd_.Cancel(stream->watch);
  }
}

// ---- the network
// -------------------------------------------------------------------------------

Duration SimTransport::Latency() {
  return random_.Between(faults_.latency_least, faults_.latency_most);
}

Duration SimTransport::StreamLatency() {
  if (!random_.Chance(faults_.stream_late)) return Latency();
  world_.Hit(Fault::kStreamLate);
  return Latency() + random_.Between(Duration{0}, kStreamLateMost);
}

void SimTransport::Send(int member, Duration extra, std::function<void()> arrives) {
  if (link(member).cut_out) {
    world_.Hit(Fault::kMessageHeld);
    link(member).held.push_back([this, arrives = std::move(arrives)](TimePoint at) mutable {
      world_.At(at, std::move(arrives));
    });
    return;
  }
  world_.After(Latency() + extra, std::move(arrives));
}

void SimTransport::Return(int member, Duration extra, std::function<void()> arrives) {
  auto enters = [this, arrives = std::move(arrives)]() mutable { host_.Enter(std::move(arrives)); };
  if (link(member).cut_in) {
    world_.Hit(Fault::kMessageHeld);
    link(member).held.push_back([this, enters = std::move(enters)](TimePoint at) mutable {
      world_.At(at, std::move(enters));
    });
    return;
  }
  world_.After(Latency() + extra, std::move(enters));
}

void SimTransport::SendOn(const StreamPointer& stream, std::function<void()> arrives) {
  Link& out = link(stream->member);
  if (out.cut_out) {
    world_.Hit(Fault::kMessageHeld);
    out.held.push_back([this, stream, arrives = std::move(arrives)](TimePoint at) mutable {
      stream->out_at = std::max(stream->out_at, at);  // behind what was late before the cut
      world_.At(stream->out_at, std::move(arrives));
    });
    return;
  }
  stream->out_at = std::max(stream->out_at, world_.now() + StreamLatency());
  world_.At(stream->out_at, std::move(arrives));
}

void SimTransport::ReturnOn(const StreamPointer& stream, std::function<void()> arrives) {
  auto enters = [this, arrives = std::move(arrives)]() mutable { host_.Enter(std::move(arrives)); };
  Link& in = link(stream->member);
  if (in.cut_in) {
    world_.Hit(Fault::kMessageHeld);
    in.held.push_back([this, stream, enters = std::move(enters)](TimePoint at) mutable {
      stream->in_at = std::max(stream->in_at, at);
      world_.At(stream->in_at, std::move(enters));
    });
    return;
  }
  stream->in_at = std::max(stream->in_at, world_.now() + StreamLatency());
  world_.At(stream->in_at, std::move(enters));
}

void SimTransport::Cut(int member, Direction direction) {
  Link& cut = link(member);
  if (!cut.cut_out && !cut.cut_in) {
    cut.cut_since = world_.now();
    world_.After(kPingBound, [this, member] { CheckPings(member); });
  }
  cut.cut_out = cut.cut_out || direction != Direction::kIn;
  cut.cut_in = cut.cut_in || direction != Direction::kOut;
}

bool SimTransport::IsCut(int member) const { return link(member).cut_out || link(member).cut_in; }

// TCP sends again what was held up, in order.
void SimTransport::Heal(int member) {
  Link& healed = link(member);
  healed.cut_out = healed.cut_in = false;
  const TimePoint at = world_.now() + Latency();
  for (auto& arrives : std::exchange(healed.held, {})) arrives(at);
  for (auto& [id, stream] : streams_) {
    if (stream->member != member) continue;
    stream->out_at = std::max(stream->out_at, at);
    stream->in_at = std::max(stream->in_at, at);
  }
}

void SimTransport::CheckPings(int member) {
  const bool cut = IsCut(member) && world_.now() >= link(member).cut_since + kPingBound;
  if (host_.dead() || (!cut && !etcd_.Frozen(member))) return;
  link(member).held.clear();
  ConnectionLost(member);
}

void SimTransport::ConnectionLost(int member) {
  if (host_.dead()) return;
  std::vector<StreamPointer> broken;
  for (const auto& [id, stream] : streams_) {
    if (stream->member == member) broken.push_back(stream);
  }
  for (const StreamPointer& stream : broken) {
    host_.Enter([this, stream] { End(stream, "connection lost"); });
  }
  std::vector<CallPointer> calls;
  for (const auto& [id, call] : calls_) {
    if (call->member == member) calls.push_back(call);
  }
  for (const CallPointer& call : calls) {
    host_.Enter([this, call, attempt = call->attempt] {
      if (Current(call, attempt)) Attempted(call, kBroken);
    });
  }
}

// ---- unary calls
// -------------------------------------------------------------------------------

template <typename Response>
void SimTransport::Start(Retry retry, std::chrono::milliseconds deadline,
                         std::function<void(int, Replied<Response>)> serve,
                         etcd::ReplyHandler<Response> handler) {
  if (host_.dead()) return;
  const auto call = std::make_shared<Call>();
  call->id = next_id_++;
  call->retry = retry;
  call->deadline = host_.clock().Now() + deadline;
  const auto shared = std::make_shared<etcd::ReplyHandler<Response>>(std::move(handler));
  call->fail = [shared](CallStatus status) { (*shared)({std::move(status), {}}); };
  call->launch = [this, weak = std::weak_ptr<Call>(call), shared, serve = std::move(serve)](
                     int member, int attempt) {
    serve(member,
          [this, weak, shared, member, attempt](const Failure& failure, const Response& response) {
            if (random_.Chance(faults_.reply_lost)) return world_.Hit(Fault::kReplyLost);
            Duration extra{0};
            if (random_.Chance(faults_.reply_late)) {
              world_.Hit(Fault::kReplyLate);
              extra = random_.Between(Duration{0}, kReplyLateMost);
            }
            Return(member, extra, [this, weak, shared, attempt, failure, response] {
              const CallPointer answered = weak.lock();
              if (answered == nullptr || !Current(answered, attempt)) return;
              if (!failure.none()) return Attempted(answered, failure);
              book_.Answered(static_cast<std::size_t>(answered->member), host_.clock().Now());
              calls_.erase(answered->id);
              (*shared)({{.outcome = Outcome::kDone, .message = {}}, response});
            });
          });
  };
  calls_[call->id] = call;
  ProbeQuarantined();
  Attempt(call, static_cast<int>(book_.Current(host_.clock().Now())));
}

bool SimTransport::Current(const CallPointer& call, int attempt) const {
  return calls_.contains(call->id) && call->attempt == attempt;
}

Duration SimTransport::BoundOf(const Call& call, TimePoint now) const {
  const Duration left = std::max<Duration>(call.deadline - now, milliseconds(1));
  const bool others = std::find(call.tried.begin(), call.tried.end(), false) != call.tried.end();
  const Duration bound = std::min(left, kUnaryBound);
  if (call.retry != Retry::kReads || !others) return bound;
  return std::min(bound, std::max<Duration>(left / 2, milliseconds(50)));
}

void SimTransport::Attempt(const CallPointer& call, int member) {
  const TimePoint now = host_.clock().Now();
  ++call->attempt;
  call->member = member;
  call->sent = now;
  call->tried[static_cast<std::size_t>(member)] = true;
  call->bound = BoundOf(*call, now);
  host_.After(call->bound, [this, call, attempt = call->attempt] {
    if (Current(call, attempt)) {
      Attempted(call, {kCodeDeadlineExceeded, AddressOf(call->member) + ": no answer in time"});
    }
  });
  if (!etcd_.Up(member)) {
    world_.Hit(Fault::kMemberDown);
    world_.After(Latency(), [this, call, attempt = call->attempt] {
      host_.Enter([this, call, attempt] {
        if (Current(call, attempt)) Attempted(call, kNoConnection);
      });
    });
    return;
  }
  LaunchWithFate(call);
}

// What is sent arrives, late or twice perhaps, also where the caller has given
// up or is dead.
void SimTransport::LaunchWithFate(const CallPointer& call) {
  const int member = call->member;
  const auto arrives = [this, launch = call->launch, member](int attempt) {
    return [this, launch, member, attempt] {
      if (etcd_.Up(member)) launch(member, attempt);
    };
  };
  if (random_.Chance(faults_.request_lost)) return world_.Hit(Fault::kRequestLost);
  Duration extra{0};
  if (random_.Chance(faults_.request_late)) {
    world_.Hit(Fault::kRequestLate);
    extra = random_.Between(Duration{0}, kLateMost);
  }
  Send(member, extra, arrives(call->attempt));
  if (call->retry != Retry::kReads && random_.Chance(faults_.request_twice)) {
    world_.Hit(Fault::kRequestTwice);
    Send(member, random_.Between(Duration{0}, kTwiceMost), arrives(-1));
  }
  if (random_.Chance(faults_.reset)) {
    world_.Hit(Fault::kConnectionReset);
    Return(member, {}, [this, call, attempt = call->attempt] {
      if (Current(call, attempt)) Attempted(call, kBroken);
    });
  }
}

void SimTransport::Report(const Call& call, const Failure& failure) {
  const auto member = static_cast<std::size_t>(call.member);
  const TimePoint now = host_.clock().Now();
  if (failure.code == kCodeUnavailable) {
    book_.Unavailable(member, now);
  } else if (failure.code == kCodeDeadlineExceeded) {
    if (call.bound >= kTellingMiss) book_.Missed(member, call.sent, now);
  } else if (failure.code != kCodeResourceExhausted) {
    book_.Answered(member, now);
  }
}

bool SimTransport::TriesAnother(const CallPointer& call, const Failure& failure) {
  const bool lost = failure.code == kCodeUnavailable || failure.code == kCodeDeadlineExceeded;
  const bool allowed = (NeverServed(failure) && call->retry != Retry::kNever) ||
                       (lost && call->retry == Retry::kReads);
  const TimePoint now = host_.clock().Now();
  if (!allowed || call->deadline - now < kLeastAttempt) return false;
  const auto next = book_.NextAfter(call->tried, now);
  if (!next) return false;
  Attempt(call, static_cast<int>(*next));
  return true;
}

void SimTransport::Attempted(const CallPointer& call, const Failure& failure) {
  Report(*call, failure);
  if (world_.verbose()) {
    world_.Say("process " + std::to_string(host_.number()) + ": call " + std::to_string(call->id) +
               " to " + AddressOf(call->member) + ": " + failure.message);
  }
  if (TriesAnother(call, failure)) return;
  calls_.erase(call->id);
  call->fail(StatusOf(failure));
}

// A small linearizable read brings a quarantined endpoint back.
void SimTransport::ProbeQuarantined() {
  while (const auto endpoint = book_.TakeProbe(host_.clock().Now())) {
    const auto done = std::make_shared<bool>(false);
    const int member = static_cast<int>(*endpoint);
    host_.After(seconds(1), [this, done, endpoint] {
      if (!std::exchange(*done, true)) book_.ProbeFailed(*endpoint, host_.clock().Now());
    });
    Send(member, {}, [this, done, member] {
      pb::RangeRequest request;
      request.set_key("probe");
      etcd_.Range(member, request, [this, done, member](const Failure&, const pb::RangeResponse&) {
        Return(member, {}, [this, done, member] {
          if (std::exchange(*done, true)) return;
          book_.Answered(static_cast<std::size_t>(member), host_.clock().Now());
        });
      });
    });
  }
}

void SimTransport::Range(pb::RangeRequest request, std::chrono::milliseconds deadline,
                         etcd::ReplyHandler<pb::RangeResponse> handler) {
  Start<pb::RangeResponse>(
      Retry::kReads, deadline,
      [this, request = std::move(request)](int member, Replied<pb::RangeResponse> reply) {
        etcd_.Range(member, request, std::move(reply));
      },
      std::move(handler));
}

void SimTransport::Txn(std::shared_ptr<const pb::TxnRequest> request,
                       std::chrono::milliseconds deadline,
                       etcd::ReplyHandler<pb::TxnResponse> handler) {
  if (world_.verbose()) {
    world_.Say("process " + std::to_string(host_.number()) + ": call " + std::to_string(next_id_) +
               " compares " +
               (request->compare_size() > 0 ? request->compare(0).key() : "nothing"));
  }
  Start<pb::TxnResponse>(
      Retry::kWrites, deadline,
      [this, request = std::move(request)](int member, Replied<pb::TxnResponse> reply) {
        etcd_.Txn(member, request, host_.number(), std::move(reply));
      },
      std::move(handler));
}

void SimTransport::LeaseGrant(pb::LeaseGrantRequest request, std::chrono::milliseconds deadline,
                              etcd::ReplyHandler<pb::LeaseGrantResponse> handler) {
  Start<pb::LeaseGrantResponse>(
      Retry::kWrites, deadline,
      [this, request](int member, Replied<pb::LeaseGrantResponse> reply) {
        etcd_.Grant(member, request, host_.number(), std::move(reply));
      },
      std::move(handler));
}

void SimTransport::LeaseRevoke(pb::LeaseRevokeRequest request, std::chrono::milliseconds deadline,
                               etcd::ReplyHandler<pb::LeaseRevokeResponse> handler) {
  Start<pb::LeaseRevokeResponse>(
      Retry::kWrites, deadline,
      [this, request](int member, Replied<pb::LeaseRevokeResponse> reply) {
        etcd_.Revoke(member, request, host_.number(), std::move(reply));
      },
      std::move(handler));
}

void SimTransport::LeaseTimeToLive(pb::LeaseTimeToLiveRequest request,
                                   std::chrono::milliseconds deadline,
                                   etcd::ReplyHandler<pb::LeaseTimeToLiveResponse> handler) {
  Start<pb::LeaseTimeToLiveResponse>(
      Retry::kReads, deadline,
      [this, request](int member, Replied<pb::LeaseTimeToLiveResponse> reply) {
        etcd_.TimeToLive(member, request, std::move(reply));
      },
      std::move(handler));
}

void SimTransport::MaintenanceStatus(std::chrono::milliseconds deadline,
                                     etcd::ReplyHandler<pb::StatusResponse> handler) {
  Start<pb::StatusResponse>(
      Retry::kNever, deadline,
      [this](int member, Replied<pb::StatusResponse> reply) {
        etcd_.Status(member, std::move(reply));
      },
      std::move(handler));
}

// ---- streams
// -----------------------------------------------------------------------------------

int SimTransport::OtherThan(const std::string& avoid) {
  std::vector<bool> avoided(EtcdModel::kMembers, false);
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    avoided[static_cast<std::size_t>(member)] = AddressOf(member) == avoid;
  }
  const TimePoint now = host_.clock().Now();
  const auto other = book_.NextAfter(avoided, now);
  return static_cast<int>(other ? *other : book_.Current(now));
}

SimTransport::StreamPointer SimTransport::Open(const std::string& avoid,
                                               std::function<void(CallStatus)> ended) {
  const auto stream = std::make_shared<Stream>();
  stream->id = next_id_++;
  stream->member = OtherThan(avoid);
  stream->ended = std::move(ended);
  streams_[stream->id] = stream;
  if (!etcd_.Up(stream->member)) {
    world_.Hit(Fault::kMemberDown);
    world_.After(Latency(), [this, stream] {
      host_.Enter([this, stream] { End(stream, kNoConnection.message); });
    });
  }
  return stream;
}

void SimTransport::End(const StreamPointer& stream, const std::string& why) {
  if (!stream->open) return;
  stream->open = false;
  streams_.erase(stream->id);
  if (stream->watch != 0) etcd_.Cancel(stream->watch);
  book_.Unavailable(static_cast<std::size_t>(stream->member), host_.clock().Now());
  const auto ended = std::exchange(stream->ended, nullptr);
  ended(StatusOf({kCodeUnavailable, AddressOf(stream->member) + ": " + why}));
}

class SimTransport::KeepAliveHandle final : public etcd::KeepAliveStream {
 public:
  KeepAliveHandle(SimTransport& transport, StreamPointer stream, std::int64_t lease,
                  etcd::KeepAliveHandler handler)
      : transport_(transport),
        stream_(std::move(stream)),
        lease_(lease),
        answered_(std::make_shared<Answered>(std::move(handler.answered))) {}
  ~KeepAliveHandle() override {
    stream_->open = false;
    stream_->ended = nullptr;
    transport_.streams_.erase(stream_->id);
  }

  void Send() override {
    if (!stream_->open) return;
    SimTransport& transport = transport_;
    if (transport.random_.Chance(transport.faults_.stream_ends)) {
      transport.world_.Hit(Fault::kStreamEnded);
      transport.ReturnOn(stream_, [&transport, stream = stream_] {
        transport.End(stream, "keepalive stream ended");
      });
      return;
    }
    transport.SendOn(stream_, [&transport, stream = stream_, lease = lease_, answered = answered_] {
      transport.etcd_.KeepAlive(
          stream->member, lease,
          [&transport, stream, answered](const pb::LeaseKeepAliveResponse& response) {
            transport.ReturnOn(stream, [stream, answered, response] {
              if (stream->open) (*answered)(response);
            });
          });
    });
  }
  std::string endpoint() const override { return AddressOf(stream_->member); }

 private:
  using Answered = std::function<void(pb::LeaseKeepAliveResponse)>;
  SimTransport& transport_;
  const StreamPointer stream_;
  const std::int64_t lease_;
  const std::shared_ptr<Answered> answered_;
  const std::shared_ptr<bool> unanswered_;
};

std::unique_ptr<etcd::KeepAliveStream> SimTransport::OpenKeepAlive(std::int64_t lease,
                                                                   const std::string& avoid,
                                                                   etcd::KeepAliveHandler handler) {
  const StreamPointer stream = Open(avoid, std::move(handler.ended));
  return std::make_unique<KeepAliveHandle>(*this, stream, lease, std::move(handler));
}

class SimTransport::WatchHandle final : public etcd::WatchStream {
 public:
  WatchHandle(SimTransport& transport, StreamPointer stream)
      : transport_(transport), stream_(std::move(stream)) {}
  ~WatchHandle() override {
    stream_->open = false;
    stream_->ended = nullptr;
    transport_.streams_.erase(stream_->id);
    if (stream_->watch != 0) transport_.etcd_.Cancel(stream_->watch);
  }
  void RequestProgress() override {
    if (!stream_->open) return;
    transport_.SendOn(stream_, [&transport = transport_, stream = stream_] {
      if (stream->open) transport.etcd_.Progress(stream->watch);
    });
  }
  std::string endpoint() const override { return AddressOf(stream_->member); }

 private:
  SimTransport& transport_;
  const StreamPointer stream_;
};

std::unique_ptr<etcd::WatchStream> SimTransport::OpenWatch(const pb::WatchCreateRequest& request,
                                                           const std::string& avoid,
                                                           etcd::WatchHandler handler) {
  const StreamPointer stream = Open(avoid, std::move(handler.ended));
  using Response = std::function<void(const pb::WatchResponse&)>;
  const auto respond = std::make_shared<Response>(std::move(handler.response));
  SendOn(stream, [this, stream, respond, request] {
    if (!stream->open || !etcd_.Up(stream->member)) return;
    const auto send = [this, stream, respond](const pb::WatchResponse& response) {
      if (random_.Chance(faults_.stream_ends)) {
        world_.Hit(Fault::kStreamEnded);
        return ReturnOn(stream, [this, stream] { End(stream, "watch ended"); });
      }
      const auto kept = std::make_shared<const pb::WatchResponse>(response);
      ReturnOn(stream, [this, stream, respond, kept] {
        if (!stream->open) return;
        (*respond)(*kept);
        if (kept->canceled()) End(stream, "watch cancelled by etcd");
      });
    };
    stream->watch = etcd_.Watch(stream->member, request, send);
  });
  return std::make_unique<WatchHandle>(*this, stream);
}

}  // namespace baton::sim
