// What the parts of GrpcTransport share; for grpc_transport*.cc alone (it includes gRPC).
//
// GrpcCore owns connections, the endpoint book, the tokens and the register of what is outstanding.
// Thread-safe. No lock of it is held while anything of gRPC's or of the caller's is called.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "etcd/callback_ticker.h"
#include "etcd/endpoints.h"
#include "etcd/etcd.grpc.pb.h"
#include "etcd/grpc_transport.h"
#include "etcd/grpc_transport_token.h"

namespace baton::etcd {

/// A call or stream that is not over yet. Before it unregisters it lets go of its ClientContext and
/// its stubs, which hold the channel: the process's last channel, when destroyed, joins gRPC's
/// callback threads, so it must never be destroyed on one of them.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Makes it end soon. Any thread.
  virtual void Cancel() = 0;
};

/// Stubs of one endpoint, each kind on a connection of its own, made with the same certificates.
struct EndpointStubs {
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Lease::Stub> keepalive;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
};

/// What a gRPC status says about one attempt.
enum class Verdict {
  kDone,
  kRefused,
  kUnknown,
  kUnavailable,    ///< unknown, and the endpoint is of no use now
  kMissed,         ///< unknown: no answer in time
  kNeverServed,    ///< did certainly not reach a store: may go to another endpoint
  kTokenRejected,  ///< not applied; the token is gone or old
  kDenied,         ///< not applied; the role, or a token that etcd lost
};
Verdict VerdictOf(const grpc::Status& status);

/// The CallStatus of a verdict that stands.
CallStatus ToCallStatus(const grpc::Status& status, Verdict verdict, const std::string& endpoint);

class GrpcCore {
 public:
  GrpcCore(GrpcTransportOptions options, const std::vector<Endpoint>& endpoints,
           EtcdCredentials credentials);
  /// REQUIRES: Close() was called.
  ~GrpcCore();
  GrpcCore(const GrpcCore&) = delete;
  GrpcCore& operator=(const GrpcCore&) = delete;

  /// Of its credentials those that it began with.
  const GrpcTransportOptions& options() const { return options_; }
  TokenKeeper& tokens() { return tokens_; }
  bool uses_tls() const;
  /// REQUIRES: checked, see pem.h.
  void SetCredentials(const EtcdCredentials& credentials);
  /// To whom the options say.
  void TellOfCredentials(const std::string& what, const CallStatus& status);

  /// Holds the operation until Unregister. False once closing: it must not start.
  bool Register(std::shared_ptr<Operation> operation);
  /// The operation's last use of the core. The result keeps it alive until its function returns.
  [[nodiscard]] std::shared_ptr<Operation> Unregister(Operation* operation);
  bool closing() const { return closing_.load(); }
  /// Cancels all operations and waits for them. REQUIRES: not inside a callback.
  void Close();

  std::size_t endpoint_count() const { return endpoints_.size(); }
  const std::string& address(std::size_t endpoint) const { return endpoints_[endpoint].address; }
  /// Kept by the caller while it starts a call; a call that is started keeps its connection.
  std::shared_ptr<EndpointStubs> stubs(std::size_t endpoint);
  std::size_t CurrentEndpoint();
  std::optional<std::size_t> NextEndpoint(const std::vector<bool>& tried);
  /// For a stream: the best endpoint that is not `avoid`, or the only one.
  std::size_t EndpointOtherThan(const std::string& avoid);
  void ReportAnswered(std::size_t endpoint);
  void ReportUnavailable(std::size_t endpoint);
  void ReportMissed(std::size_t endpoint, TimePoint sent);

  /// Starts the probes of quarantined endpoints, and the trials of certificates, that are due.
  /// Called with each new call or stream: while nobody calls, nobody needs to know.
  void StartDueProbes();

 private:
  /// An endpoint's connections, and those with newer certificates that etcd has not answered on.
  struct Connections {
    std::shared_ptr<EndpointStubs> current = nullptr;
    std::shared_ptr<EndpointStubs> trial = nullptr;  ///< while one is under way
    bool behind = false;                             ///< there are newer certificates
    TimePoint tried_at{};
    Duration pause{};   ///< after a trial, until the next
    bool told = false;  ///< that one failed
  };

  void StartDueTrials();
  void StartTrial(std::size_t endpoint, const EtcdCredentials& credentials);
  void Tried(std::size_t endpoint, const std::shared_ptr<EndpointStubs>& stubs,
             const CallStatus& status);

  GrpcTransportOptions options_;
  const std::vector<Endpoint> endpoints_;
  CallbackTicker ticker_;
  TokenKeeper tokens_;
  std::atomic<bool> closing_{false};

  std::mutex mutex_;
  EtcdCredentials credentials_;                                            // mutex_; the newest
  std::vector<Connections> connections_;                                   // mutex_
  EndpointBook book_;                                                      // mutex_
  std::unordered_map<Operation*, std::shared_ptr<Operation>> operations_;  // mutex_
  std::condition_variable all_over_;                                       // mutex_
};

/// Marks that this thread runs a callback, so that a close inside one is caught, not deadlocked.
class CallbackScope {
 public:
  CallbackScope() { ++depth_; }
  ~CallbackScope() { --depth_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  static bool Inside() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

/// A point `left` from now on gRPC's monotonic clock: steps of the wall clock move no deadline.
gpr_timespec GrpcDeadline(Duration left);

/// Metadata of every call: the token, where there is one.
void AddToken(grpc::ClientContext& context, const Token& token);

}  // namespace baton::etcd
