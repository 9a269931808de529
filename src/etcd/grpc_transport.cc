#include "etcd/grpc_transport.h"

#include <utility>

#include "etcd/grpc_transport_core.h"
#include "etcd/grpc_transport_streams.h"
#include "etcd/grpc_transport_unary.h"

namespace baton::etcd {
namespace {

TimePoint In(std::chrono::milliseconds deadline) { return BootClock::now() + deadline; }

Error Invalid(const std::string& message) { return Error{ErrorCode::kInvalidArgument, message}; }

bool IsPem(const std::string& text) {
  return text.empty() || text.find("-----BEGIN ") != std::string::npos;
}

Status CheckOptions(const GrpcTransportOptions& options) {
  if (!IsPem(options.ca_pem)) return Invalid("the CA certificate is not PEM text");
  if (!IsPem(options.cert_pem)) return Invalid("the client certificate is not PEM text");
  if (!IsPem(options.key_pem)) return Invalid("the client key is not PEM text");
  if (options.cert_pem.empty() != options.key_pem.empty()) {
    return Invalid("a client certificate and its key go together: give both or none");
  }
  if (options.user.empty() && !options.password.empty()) {
    return Invalid("an etcd password without a user: give the user too");
  }
  const std::chrono::milliseconds zero{0};
  if (options.unary_bound <= zero || options.token_renewal <= zero ||
      options.ping_timeout <= zero || options.reconnect_first <= zero ||
      options.connect_timeout <= zero || options.reconnect_longest < options.reconnect_first) {
    return Invalid("transport times must be positive, and the longest pause not the shortest");
  }
  if (options.ping_interval < std::chrono::seconds(5)) {
    return Invalid("etcd closes connections that are pinged more often than every 5 s");
  }
  return Ok();
}

}  // namespace

Result<std::unique_ptr<GrpcTransport>> GrpcTransport::Create(GrpcTransportOptions options) {
  if (const baton::Status checked = CheckOptions(options); !checked) return checked.error();
  const bool tls = !options.ca_pem.empty() || !options.cert_pem.empty();
  auto endpoints = ParseEndpoints(options.endpoints, tls ? Security::kTls : Security::kPlain);
  if (!endpoints) return endpoints.error();
  auto core = std::make_unique<GrpcCore>(std::move(options), endpoints.value());
  return std::unique_ptr<GrpcTransport>(new GrpcTransport(std::move(core)));
}

GrpcTransport::GrpcTransport(std::unique_ptr<GrpcCore> core) : core_(std::move(core)) {}

GrpcTransport::~GrpcTransport() { core_->Close(); }

void GrpcTransport::SetPassword(std::string password) {
  core_->tokens().SetPassword(std::move(password));
}

void GrpcTransport::Range(etcdserverpb::RangeRequest request, std::chrono::milliseconds deadline,
                          ReplyHandler<etcdserverpb::RangeResponse> handler) {
  StartUnary<RangeMethod>(*core_, Share(std::move(request)), In(deadline), std::move(handler));
}

void GrpcTransport::Txn(std::shared_ptr<const etcdserverpb::TxnRequest> request,
                        std::chrono::milliseconds deadline,
                        ReplyHandler<etcdserverpb::TxnResponse> handler) {
  StartUnary<TxnMethod>(*core_, std::move(request), In(deadline), std::move(handler));
}

void GrpcTransport::LeaseGrant(etcdserverpb::LeaseGrantRequest request,
                               std::chrono::milliseconds deadline,
                               ReplyHandler<etcdserverpb::LeaseGrantResponse> handler) {
  StartUnary<LeaseGrantMethod>(*core_, Share(std::move(request)), In(deadline), std::move(handler));
}

void GrpcTransport::LeaseRevoke(etcdserverpb::LeaseRevokeRequest request,
                                std::chrono::milliseconds deadline,
                                ReplyHandler<etcdserverpb::LeaseRevokeResponse> handler) {
  StartUnary<LeaseRevokeMethod>(*core_, Share(std::move(request)), In(deadline),
                                std::move(handler));
}

void GrpcTransport::LeaseTimeToLive(etcdserverpb::LeaseTimeToLiveRequest request,
                                    std::chrono::milliseconds deadline,
                                    ReplyHandler<etcdserverpb::LeaseTimeToLiveResponse> handler) {
  StartUnary<LeaseTimeToLiveMethod>(*core_, Share(std::move(request)), In(deadline),
                                    std::move(handler));
}

void GrpcTransport::MaintenanceStatus(std::chrono::milliseconds deadline,
                                      ReplyHandler<etcdserverpb::StatusResponse> handler) {
  StartUnary<StatusMethod>(*core_, Share(etcdserverpb::StatusRequest()), In(deadline),
                           std::move(handler));
}

std::unique_ptr<KeepAliveStream> GrpcTransport::OpenKeepAlive(std::int64_t lease,
                                                              const std::string& avoid,
                                                              KeepAliveHandler handler) {
  return OpenKeepAliveStream(*core_, lease, avoid, std::move(handler));
}

std::unique_ptr<WatchStream> GrpcTransport::OpenWatch(
    const etcdserverpb::WatchCreateRequest& request, const std::string& avoid,
    WatchHandler handler) {
  return OpenWatchStream(*core_, request, avoid, std::move(handler));
}

}  // namespace baton::etcd
