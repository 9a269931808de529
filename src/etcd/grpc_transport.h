// The transport over gRPC's callback API: connections, failover, deadlines, tokens, outcomes.
//
// Threads: as transport.h says; callbacks come on gRPC's threads. The destructor cancels what is
// outstanding, waits until each unary call was answered (unknown) and each stream ended, and must
// not run inside a callback of the transport. Stream handles may outlive it.
//
// A stream's handle may be destroyed inside that stream's own callback; the callback goes on to its
// end. Otherwise the handle's destructor waits for a callback that runs at that moment.
// REQUIRES: whoever destroys a handle or the transport holds no lock that a callback takes, and no
// two callbacks destroy each other's handles.
//
// Connections: one for each endpoint and purpose (unary, keepalive, watch), opened at first use.
// Newer certificates (SetCredentials) are tried at each endpoint on connections of their own, now
// and then again with the calls that are made, and used there once etcd has answered on them. Until
// then the earlier ones are, so that a certificate that etcd does not take costs nothing. Streams
// that are open go on as they are.
// Endpoints: one is current; endpoints.h says when another takes its place. What one call may cost:
//   - An attempt has `unary_bound` at most where another endpoint is left (half of what remains for
//     reads), so that a frozen endpoint is left although the caller's deadline is longer.
//   - Reads are tried once at each endpoint within the deadline.
//   - A write goes on to another endpoint only where it certainly never reached a store: there was
//   no
//     connection, or the member refused to serve (learner, not capable). One that may have been
//     sent is never sent again from here: its outcome is unknown, and the layer above resends the
//     very same guarded write, which is the only safe way to make it definite.
// Outcomes: refused are invalid argument, not found (such as `requested lease not found`), failed
// precondition (such as `lease already exists`, the answer to a grant repeated with the same id),
// out of range (compacted), unimplemented, too large, and permission denied under a fresh token.
// All other errors are unknown, `database space exceeded` among them. Tokens: where a user is
// given, the first call authenticates; tokens are renewed in the background while in use, and a
// call refused for its token is sent again under a new one. Where etcd refuses a newer password,
// the last one that it took is tried: its user may have that one still.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baton/options.h"
#include "baton/result.h"
#include "etcd/transport.h"

namespace baton::etcd {

enum class FirstEndpoint {
  kAny,    ///< a random one, so that many nodes spread over etcd's members
  kFirst,  ///< the first of the list
};

struct GrpcTransportOptions {
  /// "host:port", or with http:// or https:// before it. Names are resolved by DNS.
  std::vector<std::string> endpoints = {};
  FirstEndpoint first = FirstEndpoint::kAny;

  /// etcd's user; empty: no authentication, or by certificate.
  std::string user = {};
  std::string password = {};
  /// PEM texts. A CA, or a certificate with its key, turns TLS on; without a CA the system's roots
  /// count.
  std::string ca_pem = {};
  std::string cert_pem = {};
  std::string key_pem = {};

  /// Longest attempt at one endpoint where there is another to go to. Above etcd's usual worst
  /// commit time, below a third of the lease.
  std::chrono::milliseconds unary_bound{2000};
  /// HTTP/2 pings while calls are open. etcd refuses intervals below 5 s.
  std::chrono::milliseconds ping_interval{10000};
  std::chrono::milliseconds ping_timeout{3000};
  /// Reconnecting: first pause, least time for an attempt (TLS: a second more), longest pause.
  std::chrono::milliseconds reconnect_first{100};
  std::chrono::milliseconds connect_timeout{500};
  std::chrono::milliseconds reconnect_longest{2000};
  /// Age at which a token is renewed: below half of etcd's `--auth-token-ttl` (300 s).
  std::chrono::milliseconds token_renewal{140000};

  /// Told of every attempt of a unary call: etcd's method ("Range"), gRPC's status code, and its
  /// duration. Called on gRPC's threads, from several at once; must not block.
  std::function<void(std::string_view method, int code, std::chrono::nanoseconds duration)>
      on_call = {};
  /// Told how etcd takes what SetCredentials gave: `what` is "password", or "certificates at
  /// HOST:PORT"; done, or why not, and then again only once it does. Called as on_call.
  std::function<void(const std::string& what, const CallStatus& status)> on_credentials = {};
};

/// gRPC's word for a status code, as a metric label: "OK", "UNAVAILABLE", ...; "OTHER" if unknown.
const char* StatusCodeName(int code);

class GrpcCore;

class GrpcTransport final : public Transport {
 public:
  /// Connects to nothing yet. Errors: kInvalidArgument with one line that names what is wrong with
  /// the endpoints, the PEM texts or the times.
  static Result<std::unique_ptr<GrpcTransport>> Create(GrpcTransportOptions options);
  ~GrpcTransport() override;

  /// From now on authenticates, and makes new connections, with these, once etcd takes them (see
  /// above). Tokens and streams that there are go on. Any thread. kInvalidArgument: one line that
  /// says what is wrong with them (as of Create's; also: TLS where Create was given none, no
  /// password for the user); nothing changes then.
  Status SetCredentials(EtcdCredentials credentials);

  void Range(etcdserverpb::RangeRequest request, std::chrono::milliseconds deadline,
             ReplyHandler<etcdserverpb::RangeResponse> handler) override;
  void Txn(std::shared_ptr<const etcdserverpb::TxnRequest> request,
           std::chrono::milliseconds deadline,
           ReplyHandler<etcdserverpb::TxnResponse> handler) override;
  void LeaseGrant(etcdserverpb::LeaseGrantRequest request, std::chrono::milliseconds deadline,
                  ReplyHandler<etcdserverpb::LeaseGrantResponse> handler) override;
  void LeaseRevoke(etcdserverpb::LeaseRevokeRequest request, std::chrono::milliseconds deadline,
                   ReplyHandler<etcdserverpb::LeaseRevokeResponse> handler) override;
  void LeaseTimeToLive(etcdserverpb::LeaseTimeToLiveRequest request,
                       std::chrono::milliseconds deadline,
                       ReplyHandler<etcdserverpb::LeaseTimeToLiveResponse> handler) override;
  void MaintenanceStatus(std::chrono::milliseconds deadline,
                         ReplyHandler<etcdserverpb::StatusResponse> handler) override;
  std::unique_ptr<KeepAliveStream> OpenKeepAlive(std::int64_t lease, const std::string& avoid,
                                                 KeepAliveHandler handler) override;
  std::unique_ptr<WatchStream> OpenWatch(const etcdserverpb::WatchCreateRequest& request,
                                         const std::string& avoid, WatchHandler handler) override;

 private:
  explicit GrpcTransport(std::unique_ptr<GrpcCore> core);

  std::unique_ptr<GrpcCore> core_;
};

}  // namespace baton::etcd
