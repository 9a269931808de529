// GrpcTransport: the transport over gRPC, with connections, failover, deadlines, tokens, outcomes.
//
// Threads: as etcd/transport.h says. Callbacks come on two threads of the transport: one for
// keepalives, one for all else. (If a keepalive stream needs a token and gets no token, its `ended`
// comes on the other thread.) None of gRPC's threads runs callbacks, so etcd's answers don't wait
// for gRPC's servers in this process. If a callback throws, the process ends.
//
// The destructor cancels all calls and streams. Then it waits until each unary call was answered
// and each stream has ended. A call that etcd has not done by then is answered as unknown. REQUIRES
// (checked): the destructor does not run inside a callback of the transport. Stream handles may
// outlive the transport.
//
// A callback may destroy its own stream's handle, and then runs to its end. Otherwise the handle's
// destructor waits for a callback that is running. REQUIRES (not checked): a thread that destroys a
// handle or the transport holds no lock that a callback takes. No two callbacks may destroy each
// other's handles.
//
// Connections: three for each endpoint (unary calls, keepalives, watches). Create begins to open
// those of the first current endpoint (GrpcTransportOptions::first). The others open at first use.
//
// Trials: after SetCredentials with other certificates, each endpoint makes a trial at once: it
// calls etcd on new connections with the new certificates. When etcd has answered there, new calls
// and streams use these connections. Until then they use the earlier connections, so certificates
// that etcd rejects do no harm. If a trial fails, a new call or stream begins the next trial, 1 to
// 30 s later. Open streams stay on their connections. An endpoint with a DNS name also makes trials
// if it can't be reached for 5 s, because new connections look the name up again.
//
// Endpoints: one is current; endpoints.h says when another one becomes current.
//
// Attempts: a call is one attempt or more. Range, LeaseTimeToLive and MaintenanceStatus are reads.
// Txn, LeaseGrant and LeaseRevoke are writes, even a Txn that only reads.
//  - With a single endpoint, an attempt may take all the time until the deadline.
//  - With several endpoints, an attempt takes at most `unary_bound`. If a read has not tried all
//    endpoints, an attempt takes at most half of the time that remains, or 200 ms if that is more.
//    So the call leaves a frozen endpoint before the caller's deadline.
//  - The first attempt is always made, and has at least 1 ms, even if the deadline has passed. If
//    the call needs a token and gets none, no attempt is made. Each further attempt begins 5 ms
//    before the deadline at the latest.
//  - A read is tried once at each endpoint within the deadline, as long as the endpoints are
//    unavailable or don't answer in time.
//  - A write goes on to another endpoint only if it certainly never reached a store. This is so if
//    there was no connection, or if the member refused to serve (it is a learner, or not capable).
//    If a write may have been applied, its outcome is unknown, and the transport does not send it
//    again. The layer above sends the very same guarded write again.
//
// Outcomes: these errors are kRefused. All others are kUnknown, even `database space exceeded`.
//  - Invalid argument, except if it is about the token.
//  - Unimplemented, except if the member refuses to serve.
//  - Already exists, too large, not found (`requested lease not found`), out of range (compacted).
//  - Failed precondition, for example `lease already exists` for a repeated grant of the same id.
//  - Permission denied, if the call had a fresh token (TokenKeeper::GiveUpUnlessFresh).
//  - Without a user: permission denied, unauthenticated, and etcd's words that a token is needed.
//
// Tokens: if a user is given, the first call authenticates. Tokens are renewed in the background
// while they are used. If etcd refuses a call because of its token, the call is sent again with a
// new token, at most twice. This is safe even for a write, because etcd has not applied it. token.h
// says which passwords are tried.
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

/// The endpoint that is current at first.
enum class FirstEndpoint {
  kAny,    ///< a random endpoint, so that many nodes spread over etcd's members
  kFirst,  ///< the first endpoint of the list
};

struct GrpcTransportOptions {
  /// 1 to 64 distinct endpoints, each host:port (base/endpoint.h). DNS resolves names.
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
  /// The longest time for an attempt if there are several endpoints. It should be longer than
  /// etcd's slowest usual commit, and shorter than a third of the lease's TTL.
  std::chrono::milliseconds unary_bound{2000};
  /// The interval of HTTP/2 pings while calls are open. REQUIRES: 5 s or more, because etcd closes
  /// connections that are pinged more often.
  std::chrono::milliseconds ping_interval{10000};
  /// If a ping is not answered within this time, the connection is closed.
  std::chrono::milliseconds ping_timeout{3000};
  /// The first pause before a failed connection is tried again. Later pauses are longer.
  std::chrono::milliseconds reconnect_first{100};
  /// How long an attempt to connect may take before it counts as failed; with TLS, a second more.
  /// If the present pause is longer, the attempt may take as long as that pause.
  std::chrono::milliseconds connect_timeout{500};
  /// The longest pause between attempts to connect. REQUIRES: not below reconnect_first.
  std::chrono::milliseconds reconnect_longest{2000};
  /// The age at which a token is renewed: below half of etcd's `--auth-token-ttl` (300 s).
  std::chrono::milliseconds token_renewal{140000};

  /// Called after every attempt of a unary call, also for the transport's own calls, such as
  /// "Authenticate". Gets etcd's method ("Range"), gRPC's status code and the attempt's duration.
  /// Called on the transport's thread for all but keepalives. Must not block.
  std::function<void(std::string_view method, int code, std::chrono::nanoseconds duration)>
      on_call = {};
  /// Called when etcd accepts or rejects the credentials of SetCredentials. `what`: "password" or
  /// "certificates at HOST:PORT". `status`: done, or why etcd rejects them. For certificates, an
  /// endpoint that can't be reached counts as a rejection. After a rejection, the next call comes
  /// when etcd accepts these credentials, or rejects later ones. If etcd also rejects the last
  /// accepted password, there is no call for the password, but calls to etcd fail. Called on the
  /// same thread as on_call. Must not block.
  std::function<void(const std::string& what, const CallStatus& status)> on_credentials = {};
};

class GrpcCore;

class GrpcTransport final : public Transport {
 public:
  /// Creates a transport, and begins to connect to the current endpoint in the background. So
  /// Create does not fail if etcd is away. Throws std::system_error if the host has no thread left.
  /// Returns kInvalidArgument, with a message of one line, if the endpoints, the user, the PEM
  /// texts or the times are not as GrpcTransportOptions requires.
  static Result<std::unique_ptr<GrpcTransport>> Create(GrpcTransportOptions options);
  ~GrpcTransport() override;

  /// Replaces the credentials, and returns at once. New tokens and new connections use them once
  /// etcd accepts them (see above); on_credentials reports this. The present token and open streams
  /// go on. Without PEM texts, TLS stays on or off. If it is on, the system's roots are trusted,
  /// and no certificate is shown. Any thread.
  ///
  /// Returns kInvalidArgument, with a message of one line, and changes nothing in these cases:
  ///  - The PEM texts can't be used.
  ///  - There are certificates, but TLS was off at the start.
  ///  - There is a user without a password, or a password without a user.
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
