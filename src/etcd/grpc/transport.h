// GrpcTransport: the transport over gRPC, with connections, failover, deadlines, tokens, outcomes.
//
// Threads: as etcd/transport.h says. Callbacks come on two threads of the transport: one for
// keepalives, one for all else. (If a keepalive stream needs a token and gets no token, `ended`
// comes on the other thread.) Neither is one of gRPC's threads. So etcd's answers don't wait while
// gRPC's servers in this process serve callers, and a keepalive doesn't wait while a large answer
// is decoded. A callback must not throw: the process would end. The destructor cancels all
// outstanding calls and streams, and waits until each unary call was answered (as unknown, unless
// etcd's answer was there already) and each stream has ended. REQUIRES (checked): it does not run
// inside a callback of the transport. Stream handles may outlive the transport.
//
// A callback may destroy its own stream's handle, and then runs to its end. Otherwise the handle's
// destructor waits for a callback that is running. REQUIRES: a thread that destroys a handle or the
// transport holds no lock that a callback takes, and no two callbacks destroy each other's handles.
//
// Connections: three for each endpoint (unary calls, keepalives, watches). Create begins to open
// those of the endpoint that is current at first (GrpcTransportOptions::first); the others open at
// first use. After SetCredentials with other certificates, each endpoint makes a trial: it calls
// etcd on new connections with the new certificates. The first trial begins at once. While trials
// fail, a new call or stream begins the next one, 1 to 30 s after the last. Once etcd has answered
// on the new connections, new calls and streams use them. Until then they use the earlier ones, so
// certificates that etcd rejects do no harm. Open streams stay on their connections. If an endpoint
// with a DNS name can't be reached for 5 s, it makes trials, too, because new connections look the
// name up again.
//
// Endpoints: one is current; endpoints.h says when another one becomes current.
//
// How long one call may take, and to which endpoints it goes. Range, LeaseTimeToLive and
// MaintenanceStatus are reads; Txn, LeaseGrant and LeaseRevoke are writes, also a Txn that only
// reads.
//  - With several endpoints, an attempt takes at most `unary_bound`. As long as a read has another
//    endpoint to try, an attempt also takes at most half of the time that remains, or 200 ms if
//    that is more. So a call leaves a frozen endpoint even if the caller's deadline is later. With
//    a single endpoint, an attempt takes all the time until the deadline.
//  - The first attempt is always made: a deadline of 0 or less gives it 1 ms. (If the call first
//    has to get a token, this is the attempt to get the token.) No other attempt begins less than
//    5 ms before the deadline.
//  - A read is tried once at each endpoint within the deadline, as long as the endpoints are
//    unavailable or don't answer in time.
//  - A write goes on to another endpoint only if it certainly never reached a store: there was no
//    connection, or the member refused to serve (it is a learner, or not capable). A write that may
//    have been applied is never sent again from here: its outcome is unknown. The layer above sends
//    the very same guarded write again, which is the only safe way to make its outcome definite.
//
// Outcomes: these errors are kRefused; all others are kUnknown, including `database space
// exceeded`.
//  - Invalid argument, unless it is about the token.
//  - Unimplemented, unless the member refuses to serve.
//  - Already exists, too large.
//  - Not found (`requested lease not found`), out of range (compacted).
//  - Failed precondition. A grant repeated with the same id gets this one (`lease already exists`).
//  - Permission denied, if the call had a fresh token (TokenKeeper::GiveUpUnlessFresh).
//  - Without a user: permission denied, unauthenticated, and etcd's words that a token is needed.
//
// Tokens: if a user is given, the first call authenticates. Tokens are renewed in the background
// while they are used. If etcd refuses a call because of its token, the call is sent again with a
// new token, at most twice. This is safe even for a write, because etcd has not applied it. If etcd
// refuses a newer password, the last password that etcd accepted is tried, too, because etcd may
// not have the new one yet.
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

/// Which endpoint is the current one at first.
enum class FirstEndpoint {
  kAny,    ///< a random endpoint, so that many nodes spread over etcd's members
  kFirst,  ///< the first endpoint of the list
};

struct GrpcTransportOptions {
  /// 1 to 64 endpoints, none of them twice, each host:port (base/endpoint.h). DNS resolves names.
  std::vector<std::string> endpoints = {};
  FirstEndpoint first = FirstEndpoint::kAny;

  /// etcd's user. Empty: no authentication, or authentication by the certificate. REQUIRES: a
  /// password if and only if there is a user.
  std::string user = {};
  std::string password = {};
  /// PEM texts. A CA, or a certificate with its key, turns TLS on. Without a CA, the system's roots
  /// are trusted.
  std::string ca_pem = {};
  std::string cert_pem = {};
  std::string key_pem = {};

  // REQUIRES: all times below are above 0.
  /// The longest attempt at one endpoint if there are several. It should be above etcd's usual
  /// worst commit time, and below a third of the lease.
  std::chrono::milliseconds unary_bound{2000};
  /// The interval of HTTP/2 pings while calls are open: 5 s or more, because etcd closes
  /// connections that are pinged more often.
  std::chrono::milliseconds ping_interval{10000};
  /// A connection is closed if a ping is not answered within this time.
  std::chrono::milliseconds ping_timeout{3000};
  /// The first pause before a failed connection is tried again. Later pauses are longer.
  std::chrono::milliseconds reconnect_first{100};
  /// How long an attempt to connect may take before it counts as failed; with TLS a second more. If
  /// the present pause is longer, the attempt may take as long as that.
  std::chrono::milliseconds connect_timeout{500};
  /// The longest pause. REQUIRES: it is not below reconnect_first.
  std::chrono::milliseconds reconnect_longest{2000};
  /// The age at which a token is renewed: below half of etcd's `--auth-token-ttl` (300 s).
  std::chrono::milliseconds token_renewal{140000};

  /// Called after every attempt of a unary call, also of the transport's own calls, such as
  /// "Authenticate". Gets etcd's method ("Range"), gRPC's status code and the attempt's duration.
  /// Called on the transport's thread for all but keepalives; must not block.
  std::function<void(std::string_view method, int code, std::chrono::nanoseconds duration)>
      on_call = {};
  /// Called when etcd accepts or rejects the credentials of SetCredentials. `what` is "password" or
  /// "certificates at HOST:PORT"; the status says done, or why not. An endpoint that can't be
  /// reached counts as a rejection. After a rejection, called again only once etcd accepts these
  /// credentials, or rejects later ones. Not called for a password if etcd rejects the last
  /// accepted one, too: then calls fail. Called on the same thread as on_call; must not block.
  std::function<void(const std::string& what, const CallStatus& status)> on_credentials = {};
};

class GrpcCore;

class GrpcTransport final : public Transport {
 public:
  /// Creates a transport, which begins to connect to the current endpoint in the background. So
  /// Create does not fail if etcd is away. Throws std::system_error if the host has no thread left.
  /// kInvalidArgument: the endpoints, the user, the PEM texts or the times are not as
  /// GrpcTransportOptions requires; the message says in one line what is wrong.
  static Result<std::unique_ptr<GrpcTransport>> Create(GrpcTransportOptions options);
  ~GrpcTransport() override;

  /// Replaces the credentials: new tokens and new connections use them once etcd accepts them (see
  /// above). The present token and open streams go on. Without PEM texts, TLS stays as it is, the
  /// system's roots are trusted, and no certificate is shown. Returns at once; on_credentials says
  /// later whether etcd accepts the credentials. Any thread. kInvalidArgument: the PEM texts can't
  /// be used; there are certificates, but TLS was off at the start; there is a user, but no
  /// password; or there is a password, but no user. Then nothing changes; the message says in one
  /// line what is wrong.
  Status SetCredentials(EtcdCredentials credentials);

  void RangeAvoiding(const std::string& avoid, etcdserverpb::RangeRequest request,
                     std::chrono::milliseconds deadline,
                     ReplyHandler<etcdserverpb::RangeResponse> handler) override;
  void Txn(std::shared_ptr<const etcdserverpb::TxnRequest> request,
           std::chrono::milliseconds deadline,
           ReplyHandler<etcdserverpb::TxnResponse> handler) override;
  void TxnElsewhere(std::shared_ptr<const etcdserverpb::TxnRequest> request,
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
