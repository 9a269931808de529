#include "sim/sim_transport.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/next_version.h"
#include "sim/phases.h"
#include "sim/sim_transport_stream.h"

namespace baton::sim {
namespace {

using etcd::CallStatus;

// The same values as GrpcTransport's.
constexpr Duration kUnaryBound = milliseconds(2000);
constexpr Duration kLeastAttempt = milliseconds(5);
constexpr Duration kTellingMiss = milliseconds(250);
constexpr Duration kPingBound = seconds(13);
constexpr int kTokenRenewals = 2;

constexpr Duration kLateMost = seconds(6);
constexpr Duration kTwiceMost = seconds(3);
constexpr Duration kReplyLateMost = seconds(2);
constexpr Duration kStreamLateMost = milliseconds(1500);

bool NeverServed(const Failure& failure) { return failure.message == kNoConnection.message; }

}  // namespace

SimTransport::SimTransport(Parts parts)
    : world_(parts.world),
      etcd_(parts.etcd),
      host_(parts.host),
      faults_(parts.faults),
      dice_(parts.dice),
      random_(parts.random),
      next_version_(parts.next_version),
      role_(parts.role),
      sent_(std::move(parts.sent)),
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

Phases SimTransport::Open() const {
  Phases open;
  for (const auto& [id, call] : calls_) open |= call->phase;
  for (const auto& [id, stream] : streams_) {
    if (stream->waits) open |= stream->phase;
  }
  return open;
}

// ---- the network ----

Duration SimTransport::Latency() {
  return random_.Between(faults_.latency_least, faults_.latency_most);
}

bool SimTransport::Struck(Fault fault, Phase phase, int per_mille) {
  const bool struck = dice_.Strikes(fault, phase, per_mille);
  if (struck) world_.Hit(fault, phase);
  return struck;
}

Duration SimTransport::StruckFor(Fault fault, Phase phase, int per_mille, Duration most) {
  const auto length = dice_.StrikesFor(fault, phase, per_mille, most);
  if (length) world_.Hit(fault, phase);
  return length.value_or(Duration{0});
}

Duration SimTransport::StreamLatency(Phase phase) {
  return Latency() + StruckFor(Fault::kStreamLate, phase, faults_.stream_late, kStreamLateMost);
}

void SimTransport::Send(const Message& message, std::function<void()> arrives) {
  Link& way = link(message.member);
  if (way.cut_out) {
    world_.Hit(Fault::kMessageHeld, message.phase);
    way.held.push_back([this, arrives = std::move(arrives)](TimePoint at) mutable {
      world_.At(at, std::move(arrives));
    });
    return;
  }
  world_.After(Latency() + message.extra, std::move(arrives));
}

void SimTransport::Return(const Message& message, std::function<void()> arrives) {
  auto enters = [this, arrives = std::move(arrives)]() mutable { host_.Enter(std::move(arrives)); };
  Link& way = link(message.member);
  if (way.cut_in) {
    world_.Hit(Fault::kMessageHeld, message.phase);
    way.held.push_back([this, enters = std::move(enters)](TimePoint at) mutable {
      world_.At(at, std::move(enters));
    });
    return;
  }
  world_.After(Latency() + message.extra, std::move(enters));
}

void SimTransport::SendOn(const StreamPointer& stream, std::function<void()> arrives) {
  Link& out = link(stream->member);
  if (out.cut_out) {
    world_.Hit(Fault::kMessageHeld, stream->phase);
    out.held.push_back([this, stream, arrives = std::move(arrives)](TimePoint at) mutable {
      stream->out_at = std::max(stream->out_at, at);  // after what was late before the cut
      world_.At(stream->out_at, std::move(arrives));
    });
    return;
  }
  stream->out_at = std::max(stream->out_at, world_.now() + StreamLatency(stream->phase));
  world_.At(stream->out_at, std::move(arrives));
}

void SimTransport::ReturnOn(const StreamPointer& stream, std::function<void()> arrives) {
  auto enters = [this, arrives = std::move(arrives)]() mutable { host_.Enter(std::move(arrives)); };
  Link& in = link(stream->member);
  if (in.cut_in) {
    world_.Hit(Fault::kMessageHeld, stream->phase);
    in.held.push_back([this, stream, enters = std::move(enters)](TimePoint at) mutable {
      stream->in_at = std::max(stream->in_at, at);
      world_.At(stream->in_at, std::move(enters));
    });
    return;
  }
  stream->in_at = std::max(stream->in_at, world_.now() + StreamLatency(stream->phase));
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
    const bool live = stream->waits || stream->phase == Phase::kWatching;
    if (live) world_.Hit(Fault::kConnectionReset, stream->phase);
    host_.Enter([this, stream] { End(stream, {kCodeUnavailable, "connection lost"}); });
  }
  std::vector<CallPointer> calls;
  for (const auto& [id, call] : calls_) {
    if (call->member == member) calls.push_back(call);
  }
  for (const CallPointer& call : calls) {
    world_.Hit(Fault::kConnectionReset, call->phase);
    host_.Enter([this, call, attempt = call->attempt] {
      if (Current(call, attempt)) Attempted(call, kBroken);
    });
  }
}

// ---- unary calls ----

template <typename Response>
void SimTransport::Start(Kind kind, std::chrono::milliseconds deadline,
                         std::function<void(int, Replied<Response>)> serve,
                         etcd::ReplyHandler<Response> handler) {
  if (host_.dead()) return;
  const auto call = std::make_shared<Call>();
  call->id = next_id_++;
  call->retry = kind.retry;
  call->phase = kind.phase;
  call->deadline = host_.clock().Now() + deadline;
  const auto shared = std::make_shared<etcd::ReplyHandler<Response>>(std::move(handler));
  call->fail = [shared](CallStatus status) { (*shared)({std::move(status), {}}); };
  call->launch = [this, weak = std::weak_ptr<Call>(call), shared, serve = std::move(serve),
                  phase = kind.phase](int member, int attempt) {
    const Replied<Response> reply = [this, weak, shared, member, attempt, phase](
                                        const Failure& failure, const Response& response) {
      if (Struck(Fault::kReplyLost, phase, faults_.reply_lost)) return;
      const Duration extra =
          StruckFor(Fault::kReplyLate, phase, faults_.reply_late, kReplyLateMost);
      Return({member, phase, extra}, [this, weak, shared, attempt, failure, response]() mutable {
        const CallPointer answered = weak.lock();
        if (answered == nullptr || !Current(answered, attempt)) return;
        if (!failure.none()) return Attempted(answered, failure);
        book_.Answered(static_cast<std::size_t>(answered->member), host_.clock().Now());
        calls_.erase(answered->id);
        (*shared)({{.outcome = Outcome::kDone, .message = {}}, std::move(response)});
      });
    };
    if (RefusesToken(member, phase)) return reply(kInvalidToken, {});
    serve(member, reply);
  };
  calls_[call->id] = call;
  world_.Began(host_.number(), kind.phase);
  ProbeQuarantined();
  const int current = static_cast<int>(book_.Current(host_.clock().Now()));
  const bool other = kind.elsewhere || AddressOf(current) == kind.avoid;
  Attempt(call, other ? OtherThan(AddressOf(current)) : current);
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
    world_.Hit(Fault::kMemberDown, call->phase);
    world_.After(Latency(), [this, call, attempt = call->attempt] {
      host_.Enter([this, call, attempt] {
        if (Current(call, attempt)) Attempted(call, kNoConnection);
      });
    });
    return;
  }
  LaunchWithFate(call);
}

// A message that was sent arrives, perhaps late or twice, even if the caller has given up or is
// dead.
void SimTransport::LaunchWithFate(const CallPointer& call) {
  const int member = call->member;
  const auto arrives = [this, launch = call->launch, member](int attempt) {
    return [this, launch, member, attempt] {
      if (etcd_.Up(member)) launch(member, attempt);
    };
  };
  const Phase phase = call->phase;
  if (Struck(Fault::kRequestLost, phase, faults_.request_lost)) return;
  const Duration late = StruckFor(Fault::kRequestLate, phase, faults_.request_late, kLateMost);
  Send({member, phase, late}, arrives(call->attempt));
  const int twice = call->retry == Retry::kWrites ? faults_.request_twice : 0;
  const Duration again = StruckFor(Fault::kRequestTwice, phase, twice, kTwiceMost);
  if (again > Duration{0}) Send({member, phase, again}, arrives(-1));
  if (Struck(Fault::kConnectionReset, phase, faults_.reset)) {
    Return({member, phase}, [this, call, attempt = call->attempt] {
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

// Fetches another token, and sends the same request to the same endpoint.
bool SimTransport::TriesAnotherToken(const CallPointer& call, const Failure& failure) {
  if (failure.code != kCodeUnauthenticated || call->tokens == kTokenRenewals) return false;
  ++call->tokens;
  world_.After(2 * Latency(), [this, call, attempt = call->attempt] {
    host_.Enter([this, call, attempt] {
      if (Current(call, attempt)) Attempt(call, call->member);
    });
  });
  return true;
}

bool SimTransport::RefusesToken(int member, Phase phase) {
  if (!etcd_.RefusesTokens(member)) return false;
  world_.Hit(Fault::kTokenRefused, phase);
  return true;
}

void SimTransport::Attempted(const CallPointer& call, const Failure& failure) {
  Report(*call, failure);
  if (world_.verbose()) {
    world_.Say("process " + std::to_string(host_.number()) + ": call " + std::to_string(call->id) +
               " to " + AddressOf(call->member) + ": " + failure.message);
  }
  if (TriesAnotherToken(call, failure) || TriesAnother(call, failure)) return;
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
    Send({member}, [this, done, member] {
      pb::RangeRequest request;
      request.set_key("probe");
      etcd_.Range(member, request, [this, done, member](const Failure&, const pb::RangeResponse&) {
        Return({member}, [this, done, member] {
          if (std::exchange(*done, true)) return;
          book_.Answered(static_cast<std::size_t>(member), host_.clock().Now());
        });
      });
    });
  }
}

void SimTransport::RangeAvoiding(const std::string& avoid, pb::RangeRequest request,
                                 std::chrono::milliseconds deadline,
                                 etcd::ReplyHandler<pb::RangeResponse> handler) {
  BATON_CHECK(role_ == nullptr || role_->Allows(request.key(), request.range_end()));
  Start<pb::RangeResponse>(
      {Retry::kReads, Phase::kReading, false, avoid}, deadline,
      [this, request = std::move(request)](int member, Replied<pb::RangeResponse> reply) {
        etcd_.Range(member, request, std::move(reply));
      },
      std::move(handler));
}

void SimTransport::SendTxn(std::shared_ptr<const pb::TxnRequest> request,
                           std::chrono::milliseconds deadline,
                           etcd::ReplyHandler<pb::TxnResponse> handler, bool elsewhere) {
  if (world_.verbose()) {
    world_.Say("process " + std::to_string(host_.number()) + ": call " + std::to_string(next_id_) +
               " compares " +
               (request->compare_size() > 0 ? request->compare(0).key() : "nothing"));
  }
  BATON_CHECK(role_ == nullptr || role_->Allows(*request));
  const Phase phase = PhaseOf(*request);
  if (next_version_) request = AsNextVersion(*request);
  sent_(*request);
  Start<pb::TxnResponse>(
      {Retry::kWrites, phase, elsewhere}, deadline,
      [this, request = std::move(request)](int member, Replied<pb::TxnResponse> reply) {
        etcd_.Txn(member, request, host_.number(), std::move(reply));
      },
      std::move(handler));
}

void SimTransport::LeaseGrant(pb::LeaseGrantRequest request, std::chrono::milliseconds deadline,
                              etcd::ReplyHandler<pb::LeaseGrantResponse> handler) {
  Start<pb::LeaseGrantResponse>(
      {Retry::kWrites, Phase::kGranting}, deadline,
      [this, request](int member, Replied<pb::LeaseGrantResponse> reply) {
        etcd_.Grant(member, request, host_.number(), std::move(reply));
      },
      std::move(handler));
}

void SimTransport::LeaseRevoke(pb::LeaseRevokeRequest request, std::chrono::milliseconds deadline,
                               etcd::ReplyHandler<pb::LeaseRevokeResponse> handler) {
  Start<pb::LeaseRevokeResponse>(
      {Retry::kWrites, Phase::kRevoking}, deadline,
      [this, request](int member, Replied<pb::LeaseRevokeResponse> reply) {
        etcd_.Revoke(member, request, host_.number(), std::move(reply));
      },
      std::move(handler));
}

void SimTransport::LeaseTimeToLive(pb::LeaseTimeToLiveRequest request,
                                   std::chrono::milliseconds deadline,
                                   etcd::ReplyHandler<pb::LeaseTimeToLiveResponse> handler) {
  Start<pb::LeaseTimeToLiveResponse>(
      {Retry::kReads, Phase::kReading}, deadline,
      [this, request](int member, Replied<pb::LeaseTimeToLiveResponse> reply) {
        etcd_.TimeToLive(member, request, std::move(reply));
      },
      std::move(handler));
}

void SimTransport::MaintenanceStatus(std::chrono::milliseconds deadline,
                                     etcd::ReplyHandler<pb::StatusResponse> handler) {
  Start<pb::StatusResponse>(
      {Retry::kNever, Phase::kReading}, deadline,
      [this](int member, Replied<pb::StatusResponse> reply) {
        etcd_.Status(member, std::move(reply));
      },
      std::move(handler));
}

}  // namespace baton::sim
