#include "sim/model_check/party.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "base/check.h"
#include "etcd/etcd.grpc.pb.h"

namespace baton::sim {
namespace {

constexpr Duration kModelStep = milliseconds(1);
constexpr Duration kPatience = seconds(30);
constexpr milliseconds kStatusDeadline{20000};

std::string VersionOf(Party& party) {
  std::string version;
  bool answered = false;
  party.transport().MaintenanceStatus(kStatusDeadline, [&](etcd::Reply<pb::StatusResponse> reply) {
    party.Note([&] {
      version = reply.response.version();
      answered = true;
    });
  });
  BATON_CHECK(party.Until([&] { return answered; }) && !version.empty());
  return version;
}

}  // namespace

EtcdModelOptions ModelOf(const std::string& version, bool documented, EtcdModelOptions options) {
  const bool old = version.starts_with("3.4.") && !documented;
  options.personality = old ? Personality::k3423 : Personality::kDocumented;
  options.dialect = DialectOf(version);
  return options;
}

// ---- the model

ModelParty::ModelParty(const EtcdModelOptions& options, std::uint64_t seed)
    : name_(options.personality == Personality::k3423 ? "model, 3.4.23" : "model, documented"),
      world_(seed, false),
      model_(world_, options),
      clock_(world_, 0, Duration{0}),
      host_(world_, clock_, 1),
      dice_(world_, seed, 0),
      transport_({.world = world_,
                  .etcd = model_,
                  .host = host_,
                  .faults = network_,
                  .dice = dice_,
                  .random = world_.random().Fork()}) {
  model_.LoseDeletions(options.personality == Personality::k3423);
}

std::string ModelParty::version() { return VersionOf(*this); }

Failure ModelParty::Compact(std::int64_t revision) { return model_.Compact(revision); }

bool ModelParty::Until(const std::function<bool()>& done, Duration patience) {
  const Duration end = Now() + patience;
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

std::string RealParty::version() { return VersionOf(*this); }

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

bool RealParty::Until(const std::function<bool()>& done, Duration patience) {
  std::unique_lock lock(mutex_);
  return noted_.wait_for(lock, patience, done);
}

}  // namespace baton::sim
