// GrpcCore: what the parts of GrpcTransport share. Only for this folder (it includes gRPC).
//
// GrpcCore owns connections, the endpoint book, the tokens and the register of outstanding
// operations. Thread-safe. It holds no lock while it calls gRPC or the caller's code.
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

#include "etcd/etcd.grpc.pb.h"
#include "etcd/grpc/callback_ticker.h"
#include "etcd/grpc/endpoints.h"
#include "etcd/grpc/token.h"
#include "etcd/grpc/transport.h"

namespace baton::etcd {

/// A call or stream that is not over yet. It must drop its ClientContext and its stubs before it
/// unregisters, because they hold the channel. When the process's last channel is destroyed, it
/// joins gRPC's callback threads; so it must never be destroyed on one of them.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Makes it end soon. Any thread.
  virtual void Cancel() = 0;
};

/// The stubs of one endpoint. Each kind has its own connection; all use the same certificates.
struct EndpointStubs {
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Lease::Stub> keepalive;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
};

class GrpcCore {
 public:
  GrpcCore(GrpcTransportOptions options, const std::vector<Endpoint>& endpoints,
           EtcdCredentials credentials);
  /// REQUIRES: Close() was called.
  ~GrpcCore();
  GrpcCore(const GrpcCore&) = delete;
  GrpcCore& operator=(const GrpcCore&) = delete;

  /// The options. Their credentials are the first ones, also after SetCredentials.
  const GrpcTransportOptions& options() const { return options_; }
  TokenKeeper& tokens() { return tokens_; }
  bool uses_tls() const;
  /// REQUIRES: checked, see base/pem.h.
  void SetCredentials(const EtcdCredentials& credentials);
  /// Calls the options' on_credentials.
  void TellOfCredentials(const std::string& what, const CallStatus& status);

  /// Holds the operation until Unregister. Returns false while closing: then it must not start.
  bool Register(std::shared_ptr<Operation> operation);
  /// The operation's last use of the core. The caller keeps the result, and so the operation, alive
  /// until its function returns.
  [[nodiscard]] std::shared_ptr<Operation> Unregister(Operation* operation);
  bool closing() const { return closing_.load(); }
  /// Cancels all operations and waits for them. REQUIRES: not inside a callback.
  void Close();

  std::size_t endpoint_count() const { return endpoints_.size(); }
  const std::string& address(std::size_t endpoint) const { return endpoints_[endpoint].address; }
  /// The caller keeps them while it starts a call; a started call keeps its connection by itself.
  std::shared_ptr<EndpointStubs> stubs(std::size_t endpoint);
  std::size_t CurrentEndpoint();
  std::optional<std::size_t> NextEndpoint(const std::vector<bool>& tried);
  /// For a stream: the best endpoint that is not `avoid`, or `avoid` if it is the only one.
  std::size_t EndpointOtherThan(const std::string& avoid);
  void ReportAnswered(std::size_t endpoint);
  void ReportUnavailable(std::size_t endpoint);
  void ReportMissed(std::size_t endpoint, TimePoint sent);

  /// Starts the due probes of quarantined endpoints and the due trials of certificates. Each new
  /// call or stream calls this: while nobody calls, nobody needs the results.
  void StartDueProbes();

 private:
  /// An endpoint's connections, and a trial of newer certificates on which etcd has not answered
  /// yet.
  struct Connections {
    std::shared_ptr<EndpointStubs> current = nullptr;
    std::shared_ptr<EndpointStubs> trial = nullptr;  ///< while a trial runs
    bool behind = false;  ///< there are newer certificates than those of `current`
    TimePoint tried_at{};
    Duration pause{};   ///< the time from one trial to the next
    bool told = false;  ///< its failure was reported
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

/// Marks that this thread runs a callback, so that a close inside one aborts instead of
/// deadlocking.
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

/// The time `left` from now on gRPC's monotonic clock: steps of the wall clock move no deadline.
gpr_timespec GrpcDeadline(Duration left);

/// Adds the token, if there is one, to a call's metadata.
void AddToken(grpc::ClientContext& context, const Token& token);

}  // namespace baton::etcd
