#include "sim/model_check/party.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "etcd/etcd.grpc.pb.h"

namespace baton::sim {
namespace {

constexpr Duration kModelStep = milliseconds(1);
constexpr Duration kPatience = seconds(30);

EtcdModelOptions With(Personality personality, EtcdModelOptions options) {
  options.personality = personality;
  return options;
}

}  // namespace

// ---- the model

ModelParty::ModelParty(Personality personality, std::uint64_t seed, EtcdModelOptions options)
    : name_(personality == Personality::k3423 ? "model, 3.4.23" : "model, documented"),
      world_(seed, false),
      model_(world_, With(personality, options)),
      clock_(world_, 0, Duration{0}),
      host_(world_, clock_, 1),
      dice_(world_, seed, 0),
      transport_({.world = world_,
                  .etcd = model_,
                  .host = host_,
                  .faults = network_,
                  .dice = dice_,
                  .random = world_.random().Fork()}) {
  model_.LoseDeletions(personality == Personality::k3423);
}

Failure ModelParty::Compact(std::int64_t revision) { return model_.Compact(revision); }

bool ModelParty::Until(const std::function<bool()>& done) {
  const Duration end = Now() + kPatience;
  while (!done() && Now() < end) Pass(kModelStep);
  return done();
}

// ---- a real etcd

struct RealParty::Kv {
  std::unique_ptr<pb::KV::Stub> stub;
};

std::unique_ptr<RealParty> RealParty::Start(std::vector<std::string> arguments, std::string& why) {
  auto started = lab::PrivateEtcd::Start(
      {.arguments = std::move(arguments), .durability = lab::Durability::kUnsafeNoSync});
  if (!started) {
    why = started.error().message;
    return nullptr;
  }
  std::unique_ptr<RealParty> party(new RealParty(std::move(started).value()));
  auto transport = etcd::GrpcTransport::Create({.endpoints = party->etcd_->endpoints()});
  if (!transport) {
    why = transport.error().message;
    return nullptr;
  }
  party->transport_ = std::move(transport).value();
  return party;
}

RealParty::RealParty(std::unique_ptr<lab::PrivateEtcd> etcd)
    : etcd_(std::move(etcd)), kv_(std::make_unique<Kv>()) {
  const std::string address = etcd_->endpoints().front();
  kv_->stub = pb::KV::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

RealParty::~RealParty() = default;

Failure RealParty::Compact(std::int64_t revision) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  pb::CompactionRequest request;
  request.set_revision(revision);
  request.set_physical(true);
  pb::CompactionResponse response;
  const grpc::Status status = kv_->stub->Compact(&context, request, &response);
  return {.code = status.error_code(), .message = status.error_message()};
}

Duration RealParty::Now() const { return BootClock::now().time_since_epoch(); }

void RealParty::Note(const std::function<void()>& what) {
  const std::lock_guard lock(mutex_);
  what();
  noted_.notify_all();
}

bool RealParty::Until(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  return noted_.wait_for(lock, kPatience, done);
}

}  // namespace baton::sim
