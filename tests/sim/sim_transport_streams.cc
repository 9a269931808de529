// SimTransport's keepalives and watches.
#include <utility>

#include "base/check.h"
#include "sim/sim_transport_stream.h"

namespace baton::sim {

using etcd::CallStatus;

etcd::CallStatus StatusOf(const Failure& failure) {
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

namespace {

// The model cancels for only one reason.
Failure Cancelled(const pb::WatchResponse& response) {
  return {kCodeOutOfRange,
          "compacted up to revision " + std::to_string(response.compact_revision())};
}

}  // namespace

// Only at a stream's beginning: a stream that was accepted goes on.
bool SimTransport::RefusesStream(const StreamPointer& stream) {
  if (std::exchange(stream->accepted, true) || !RefusesToken(stream->member, stream->phase)) {
    return false;
  }
  ReturnOn(stream, [this, stream] { End(stream, kInvalidToken); });
  return true;
}

int SimTransport::OtherThan(const std::string& avoid) {
  std::vector<bool> avoided(EtcdModel::kMembers, false);
  for (int member = 0; member < EtcdModel::kMembers; ++member) {
    avoided[static_cast<std::size_t>(member)] = AddressOf(member) == avoid;
  }
  const TimePoint now = host_.clock().Now();
  const auto other = book_.NextAfter(avoided, now);
  return static_cast<int>(other ? *other : book_.Current(now));
}

SimTransport::StreamPointer SimTransport::Open(Phase phase, const std::string& avoid,
                                               std::function<void(CallStatus)> ended) {
  const auto stream = std::make_shared<Stream>();
  stream->id = next_id_++;
  stream->member = OtherThan(avoid);
  stream->phase = phase;
  stream->waits = phase == Phase::kWatching;
  stream->ended = std::move(ended);
  streams_[stream->id] = stream;
  world_.Began(host_.number(), phase);
  if (!etcd_.Up(stream->member)) {
    world_.Hit(Fault::kMemberDown, phase);
    world_.After(Latency(),
                 [this, stream] { host_.Enter([this, stream] { End(stream, kNoConnection); }); });
  }
  return stream;
}

void SimTransport::End(const StreamPointer& stream, const Failure& why) {
  if (!stream->open) return;
  stream->open = false;
  streams_.erase(stream->id);
  if (stream->watch != 0) etcd_.Cancel(stream->watch);
  if (why.code == kCodeUnavailable) {
    book_.Unavailable(static_cast<std::size_t>(stream->member), host_.clock().Now());
  }
  const bool by_etcd = why.code == kCodeOutOfRange;
  const auto ended = std::exchange(stream->ended, nullptr);
  ended(
      StatusOf(by_etcd ? why : Failure{why.code, AddressOf(stream->member) + ": " + why.message}));
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
    stream_->waits = true;
    SimTransport& transport = transport_;
    if (transport.Struck(Fault::kStreamEnded, Phase::kRenewing, transport.faults_.stream_ends)) {
      transport.ReturnOn(stream_, [&transport, stream = stream_] {
        transport.End(stream, {kCodeUnavailable, "keepalive stream ended"});
      });
      return;
    }
    transport.SendOn(stream_, [&transport, stream = stream_, lease = lease_, answered = answered_] {
      if (transport.RefusesStream(stream)) return;
      transport.etcd_.KeepAlive(
          stream->member, lease,
          [&transport, stream, answered](const pb::LeaseKeepAliveResponse& response) {
            transport.ReturnOn(stream, [stream, answered, response]() mutable {
              stream->waits = false;
              if (stream->open) (*answered)(std::move(response));
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
};

std::unique_ptr<etcd::KeepAliveStream> SimTransport::OpenKeepAlive(std::int64_t lease,
                                                                   const std::string& avoid,
                                                                   etcd::KeepAliveHandler handler) {
  const StreamPointer stream = Open(Phase::kRenewing, avoid, std::move(handler.ended));
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
  BATON_CHECK(role_ == nullptr || role_->Allows(request.key(), request.range_end()));
  const StreamPointer stream = Open(Phase::kWatching, avoid, std::move(handler.ended));
  using Response = std::function<void(const pb::WatchResponse&)>;
  const auto respond = std::make_shared<Response>(std::move(handler.response));
  SendOn(stream, [this, stream, respond, request] {
    if (!stream->open || !etcd_.Up(stream->member) || RefusesStream(stream)) return;
    const auto send = [this, stream, respond](pb::WatchResponse response) {
      if (Struck(Fault::kStreamEnded, Phase::kWatching, faults_.stream_ends)) {
        return ReturnOn(stream, [this, stream] { End(stream, {kCodeUnavailable, "watch ended"}); });
      }
      const auto kept = std::make_shared<const pb::WatchResponse>(std::move(response));
      ReturnOn(stream, [this, stream, respond, kept] {
        stream->waits = false;
        if (!stream->open) return;
        (*respond)(*kept);
        if (stream->open && kept->canceled()) End(stream, Cancelled(*kept));
      });
    };
    stream->watch = etcd_.Watch(stream->member, request, send);
  });
  return std::make_unique<WatchHandle>(*this, stream);
}

}  // namespace baton::sim
