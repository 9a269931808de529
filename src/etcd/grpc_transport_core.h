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

/// A call or stream that is not over yet. Before it unregisters it lets go of its ClientContext,
/// which holds the channel: the process's last channel, when destroyed, joins gRPC's callback
/// threads, so it must never be destroyed on one of them.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Makes it end soon. Any thread.
  virtual void Cancel() = 0;
};

/// One endpoint's stubs, each kind on a connection of its own.
struct EndpointStubs {
  std::string address;
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
  GrpcCore(GrpcTransportOptions options, const std::vector<Endpoint>& endpoints);
  /// REQUIRES: Close() was called.
  ~GrpcCore();
  GrpcCore(const GrpcCore&) = delete;
  GrpcCore& operator=(const GrpcCore&) = delete;

  const GrpcTransportOptions& options() const { return options_; }
  TokenKeeper& tokens() { return tokens_; }

  /// Holds the operation until Unregister. False once closing: it must not start.
  bool Register(std::shared_ptr<Operation> operation);
  /// The operation's last use of the core. The result keeps it alive until its function returns.
  [[nodiscard]] std::shared_ptr<Operation> Unregister(Operation* operation);
  bool closing() const { return closing_.load(); }
  /// Cancels all operations and waits for them. REQUIRES: not inside a callback.
  void Close();

  std::size_t endpoint_count() const { return stubs_.size(); }
  EndpointStubs& stubs(std::size_t endpoint) { return stubs_[endpoint]; }
  std::size_t CurrentEndpoint();
  std::optional<std::size_t> NextEndpoint(const std::vector<bool>& tried);
  /// For a stream: the best endpoint that is not `avoid`, or the only one.
  std::size_t EndpointOtherThan(const std::string& avoid);
  void ReportAnswered(std::size_t endpoint);
  void ReportUnavailable(std::size_t endpoint);
  void ReportMissed(std::size_t endpoint, TimePoint sent);

  /// Starts the probes of quarantined endpoints that are due. Called with each new call or stream:
  /// while nobody calls, nobody needs to know.
  void StartDueProbes();

 private:
  GrpcTransportOptions options_;
  CallbackTicker ticker_;
  std::vector<EndpointStubs> stubs_;
  TokenKeeper tokens_;
  std::atomic<bool> closing_{false};

  std::mutex mutex_;
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
