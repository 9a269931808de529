#include "bench/bare_client.h"

#include <grpcpp/grpcpp.h>

#include <random>
#include <stdexcept>

#include "base/check.h"
#include "etcd/election.grpc.pb.h"
#include "etcd/etcd.grpc.pb.h"
#include "etcd/guarded_txn.h"
#include "etcd/guarded_write.h"

namespace baton::bench {
namespace {

constexpr std::chrono::seconds kLease{3600};
constexpr std::chrono::seconds kCallBound{60};

void Require(const grpc::Status& status, const char* call) {
  if (status.ok()) return;
  throw std::runtime_error(std::string("etcd's ") + call + " failed: " + status.error_message());
}

void Bound(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kCallBound);
}

void Require(const etcdserverpb::TxnResponse& response) {
  if (!response.succeeded()) throw std::runtime_error("a bare transaction's compares did not hold");
}
void Require(const v3electionpb::CampaignResponse& response) {
  if (!response.has_leader()) throw std::runtime_error("a campaign was answered without a leader");
}

template <typename Response>
struct Call {
  grpc::ClientContext context;
  Response response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
};

// Keeps `in_flight` calls in flight until all are answered. `start(context, request, queue)` makes
// the call.
template <typename Response, typename Request, typename Start>
Duration Pump(const std::vector<Request>& requests, std::size_t in_flight, Start start) {
  BATON_CHECK(in_flight > 0);
  grpc::CompletionQueue queue;
  std::size_t next = 0;
  const auto send = [&] {
    auto call = std::make_unique<Call<Response>>();
    Bound(call->context);
    call->reader = start(&call->context, requests[next++], &queue);
    auto* tag = call.release();
    tag->reader->Finish(&tag->response, &tag->status, tag);
  };
  const TimePoint begun = BootClock::now();
  while (next < requests.size() && next < in_flight) send();
  std::string failure;
  for (std::size_t open = next; open > 0; --open) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    const std::unique_ptr<Call<Response>> call(static_cast<Call<Response>*>(tag));
    try {
      Require(call->status, "call");
      Require(call->response);
    } catch (const std::runtime_error& error) {
      failure = error.what();
    }
    if (failure.empty() && next < requests.size()) {
      send();
      ++open;
    }
  }
  const Duration took = BootClock::now() - begun;
  queue.Shutdown();
  if (!failure.empty()) throw std::runtime_error(failure);
  return took;
}

std::shared_ptr<grpc::Channel> Connect(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

struct BareClient::Stubs {
  explicit Stubs(const std::string& endpoint) : channel(Connect(endpoint)) {}

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<etcdserverpb::KV::Stub> kv = etcdserverpb::KV::NewStub(channel);
  const std::unique_ptr<etcdserverpb::Lease::Stub> lease = etcdserverpb::Lease::NewStub(channel);
  const std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance =
      etcdserverpb::Maintenance::NewStub(channel);
  const std::unique_ptr<v3electionpb::Election::Stub> election =
      v3electionpb::Election::NewStub(channel);
};

BareClient::BareClient(const std::string& endpoint) : stubs_(std::make_unique<Stubs>(endpoint)) {
  Now();  // connected before anything is measured
}
BareClient::~BareClient() = default;

SessionId BareClient::Grant() {
  grpc::ClientContext context;
  Bound(context);
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(kLease.count());
  etcdserverpb::LeaseGrantResponse response;
  Require(stubs_->lease->LeaseGrant(&context, request, &response), "LeaseGrant");
  return SessionId{response.id()};
}

SessionGuard BareClient::PutMember(const etcd::Keyspace& keyspace, const NodeId& node,
                                   std::uint32_t weight) {
  MemberFact member;
  member.node = node;
  member.present = true;
  member.lease = member.session = Grant();
  member.ttl = kLease;
  member.weight = weight;
  member.software_version = "bench";
  member.protocol_version = 1;
  const etcd::GuardedWrite write = etcd::MakeGuardedWrite(keyspace, MemberCreate{member});
  const auto request = *etcd::MakeTxn({.write = &write, .first = 0, .count = 1});
  grpc::ClientContext context;
  Bound(context);
  etcdserverpb::TxnResponse response;
  Require(stubs_->kv->Txn(&context, request, &response), "Txn");
  Require(response);
  return {.node = node,
          .session = member.session,
          .create_revision = Revision{response.header().revision()}};
}

etcdserverpb::StatusResponse BareClient::Status() {
  grpc::ClientContext context;
  Bound(context);
  etcdserverpb::StatusResponse response;
  Require(stubs_->maintenance->Status(&context, {}, &response), "Status");
  return response;
}

Revision BareClient::Now() {
  grpc::ClientContext context;
  Bound(context);
  context.set_wait_for_ready(true);
  etcdserverpb::RangeRequest request;
  request.set_key("/");
  request.set_limit(1);
  request.set_keys_only(true);
  etcdserverpb::RangeResponse response;
  Require(stubs_->kv->Range(&context, request, &response), "Range");
  return Revision{response.header().revision()};
}

Duration BareClient::Run(const std::vector<etcdserverpb::TxnRequest>& requests,
                         std::size_t in_flight) {
  return Pump<etcdserverpb::TxnResponse>(requests, in_flight,
                                         [this](auto* context, const auto& request, auto* queue) {
                                           return stubs_->kv->AsyncTxn(context, request, queue);
                                         });
}

Duration BareClient::Run(const std::vector<v3electionpb::CampaignRequest>& requests,
                         std::size_t in_flight) {
  return Pump<v3electionpb::CampaignResponse>(
      requests, in_flight, [this](auto* context, const auto& request, auto* queue) {
        return stubs_->election->AsyncCampaign(context, request, queue);
      });
}

}  // namespace baton::bench
