#include "etcd/grpc/transport.h"

#include <utility>

#include "base/pem.h"
#include "etcd/grpc/core.h"
#include "etcd/grpc/streams.h"
#include "etcd/grpc/unary.h"

namespace baton::etcd {
namespace {

TimePoint In(std::chrono::milliseconds deadline) { return BootClock::now() + deadline; }

Error Invalid(const std::string& message) { return Error{ErrorCode::kInvalidArgument, message}; }

EtcdCredentials CredentialsOf(const GrpcTransportOptions& options) {
  return {.password = options.password,
          .ca_pem = options.ca_pem,
          .cert_pem = options.cert_pem,
          .key_pem = options.key_pem};
}

Status CheckPems(const EtcdCredentials& credentials) {
  return CheckPem(
      {.ca = credentials.ca_pem, .cert = credentials.cert_pem, .key = credentials.key_pem},
      "client");
}

Status CheckOptions(const GrpcTransportOptions& options) {
  if (const Status checked = CheckPems(CredentialsOf(options)); !checked) return checked;
  if (options.user.empty() && !options.password.empty()) {
    return Invalid("an etcd password needs a user: give the user too");
  }
  if (!options.user.empty() && options.password.empty()) {
    return Invalid("an etcd user needs a password: give the password too");
  }
  const std::chrono::milliseconds zero{0};
  if (options.unary_bound <= zero || options.token_renewal <= zero ||
      options.ping_timeout <= zero || options.reconnect_first <= zero ||
      options.connect_timeout <= zero || options.reconnect_longest < options.reconnect_first) {
    return Invalid(
        "transport times must be positive, and reconnect_longest at least reconnect_first");
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
  const EtcdCredentials credentials = CredentialsOf(options);
  auto core = std::make_unique<GrpcCore>(std::move(options), endpoints.value(), credentials);
  return std::unique_ptr<GrpcTransport>(new GrpcTransport(std::move(core)));
}

GrpcTransport::GrpcTransport(std::unique_ptr<GrpcCore> core) : core_(std::move(core)) {}

GrpcTransport::~GrpcTransport() { core_->Close(); }

Status GrpcTransport::SetCredentials(EtcdCredentials credentials) {
  if (const Status checked = CheckPems(credentials); !checked) return checked;
  const bool has_user = !core_->options().user.empty();
  if (has_user && credentials.password.empty()) return Invalid("no password for etcd's user");
  if (!has_user && !credentials.password.empty()) {
    return Invalid("an etcd password was given, but no user was given at the start");
  }
  const bool tls = !credentials.ca_pem.empty() || !credentials.cert_pem.empty();
  if (tls && !core_->uses_tls())
    return Invalid("certificates were given, but TLS was off at the start");
  core_->SetCredentials(credentials);
  return Ok();
}

void GrpcTransport::RangeAvoiding(const std::string& avoid, etcdserverpb::RangeRequest request,
                                  std::chrono::milliseconds deadline,
                                  ReplyHandler<etcdserverpb::RangeResponse> handler) {
  StartUnary<RangeMethod>(*core_, Share(std::move(request)), In(deadline), std::move(handler),
                          {.avoid = avoid});
}

void GrpcTransport::Txn(std::shared_ptr<const etcdserverpb::TxnRequest> request,
                        std::chrono::milliseconds deadline,
                        ReplyHandler<etcdserverpb::TxnResponse> handler) {
  StartUnary<TxnMethod>(*core_, std::move(request), In(deadline), std::move(handler));
}

void GrpcTransport::TxnElsewhere(std::shared_ptr<const etcdserverpb::TxnRequest> request,
                                 std::chrono::milliseconds deadline,
                                 ReplyHandler<etcdserverpb::TxnResponse> handler) {
  StartUnary<TxnMethod>(*core_, std::move(request), In(deadline), std::move(handler),
                        {.elsewhere = true});
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
