// GrpcCore: the state that the parts of GrpcTransport share. Only for this folder (it includes
// gRPC).
//
// GrpcCore owns the connections, the endpoint book, the tokens, and a register of the operations
// that are not over. Thread-safe. GrpcCore holds no lock while it calls gRPC or the caller's code.
#pragma once

#include <grpcpp/grpcpp.h>

#include <array>
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
#include "etcd/grpc/completions.h"
#include "etcd/grpc/endpoints.h"
#include "etcd/grpc/token.h"
#include "etcd/grpc/transport.h"

namespace baton::etcd {

/// A call or stream that is not over yet. REQUIRES (not checked): it drops its ClientContext and
/// its stubs before it unregisters, because these keep a connection open.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Makes the operation end soon, and does not wait for the end. Any thread.
  virtual void Cancel() = 0;
};

/// The use of a connection. The value is the index of its channel in EndpointStubs::channels.
enum class Use { kUnary, kKeepAlive, kWatch };

/// The stubs of one endpoint. Unary calls, keepalives and watches have a connection each. All three
/// connections use the same certificates.
struct EndpointStubs {
  std::array<std::shared_ptr<grpc::Channel>, 3> channels;  ///< by Use
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Lease::Stub> keepalive;
  std::unique_ptr<etcdserverpb::Watch::Stub> watch;
};

class GrpcCore {
 public:
  /// Starts threads, and begins to connect to the current endpoint. Throws std::system_error if the
  /// host lacks threads. REQUIRES (not checked): `endpoints` is not empty.
  GrpcCore(GrpcTransportOptions options, const std::vector<Endpoint>& endpoints,
           EtcdCredentials credentials);
  /// REQUIRES (checked): Close() was called.
  ~GrpcCore();
  GrpcCore(const GrpcCore&) = delete;
  GrpcCore& operator=(const GrpcCore&) = delete;

  /// The options from the constructor. SetCredentials does not change them.
  const GrpcTransportOptions& options() const { return options_; }
  TokenKeeper& tokens() { return tokens_; }
  /// Whether some endpoint has TLS.
  bool uses_tls() const;
  /// As GrpcTransport::SetCredentials. REQUIRES (not checked): CheckPem (base/pem.h) accepts the
  /// certificates.
  void SetCredentials(const EtcdCredentials& credentials);
  /// Calls the options' on_credentials, if it is set. REQUIRES (not checked): the caller holds no
  /// lock.
  void TellOfCredentials(const std::string& what, const CallStatus& status);

  /// Registers an operation, and keeps it alive until Unregister. Returns false if the transport is
  /// closing; then the operation must not start.
  bool Register(std::shared_ptr<Operation> operation);
  /// Ends the registration. Returns what Register got; null if the operation is not registered.
  /// REQUIRES (not checked): the operation does not use the core after this, and the caller keeps
  /// the result until its own function returns. (The operation may be destroyed with the result.)
  [[nodiscard]] std::shared_ptr<Operation> Unregister(Operation* operation);
  bool closing() const { return closing_.load(); }
  /// Cancels all operations, and waits until they have unregistered. From now on Register returns
  /// false. May be called again. REQUIRES (checked): not called inside a callback of a transport.
  void Close();

  /// Completes the steps of unary calls and watches. REQUIRES (not checked), also for
  /// keepalive_queue: the operation that uses the queue is registered.
  grpc::CompletionQueue& queue() { return completions_.queue(); }
  /// Completes the steps of keepalives, on another thread than queue(). So keepalives don't wait
  /// while a large answer is decoded.
  grpc::CompletionQueue& keepalive_queue() { return keepalive_completions_.queue(); }

  std::size_t endpoint_count() const { return endpoints_.size(); }
  const std::string& address(std::size_t endpoint) const { return endpoints_[endpoint].address; }
  /// The endpoint's connections. The caller keeps them while it starts a call; a started call keeps
  /// its connection by itself. REQUIRES (not checked), also for address and all functions below:
  /// `endpoint` is below endpoint_count().
  std::shared_ptr<EndpointStubs> stubs(std::size_t endpoint);
  // The next six functions use the endpoint book: see EndpointBook.
  std::size_t CurrentEndpoint();
  std::optional<std::size_t> NextEndpoint(const std::vector<bool>& tried);
  /// The best endpoint whose address is not `avoid`. The current endpoint if there is no other.
  std::size_t EndpointOtherThan(const std::string& avoid);
  void ReportAnswered(std::size_t endpoint);
  /// `use`: the use of the connection that failed. The connection's state shows whether etcd itself
  /// answered, or could not be reached.
  void ReportUnavailable(std::size_t endpoint, Use use);
  void ReportMissed(std::size_t endpoint, TimePoint sent);

  /// Starts the due probes of quarantined endpoints and the due trials of newer connections. Each
  /// new call or stream calls this (except probes and trials); no timer does.
  void StartDueProbes();

 private:
  /// Why newer connections are tried.
  enum class Newer {
    kNone,          ///< newer connections are not tried
    kCertificates,  ///< there are newer certificates
    kLookUp,        ///< the endpoint's name has to be looked up again
  };

  /// An endpoint's connections. A trial uses newer connections, on which etcd has not answered yet.
  struct Connections {
    std::shared_ptr<EndpointStubs> current = nullptr;
    std::shared_ptr<EndpointStubs> trial = nullptr;  ///< null: no trial runs
    Newer wanted = Newer::kNone;
    /// When a connection first failed since etcd was last reached; max(): none has failed.
    TimePoint unreachable_since = TimePoint::max();
    TimePoint tried_at{};
    Duration pause{};   ///< the time from one trial to the next
    bool told = false;  ///< a failure of the newer certificates was reported
  };
  struct Trial {
    std::size_t endpoint = 0;
    Newer why = Newer::kNone;
    std::shared_ptr<EndpointStubs> stubs = nullptr;
  };

  static void NoteReached(Connections& connections);
  void StartDueTrials();
  void StartTrial(Trial trial, const EtcdCredentials& credentials);
  void Tried(const Trial& trial, const CallStatus& status);

  GrpcTransportOptions options_;
  const std::vector<Endpoint> endpoints_;
  CallbackTicker ticker_;
  Completions completions_;
  Completions keepalive_completions_;
  TokenKeeper tokens_;
  std::atomic<bool> closing_{false};

  std::mutex mutex_;
  EtcdCredentials credentials_;                                            // mutex_; the newest
  std::vector<Connections> connections_;                                   // mutex_
  EndpointBook book_;                                                      // mutex_
  std::unordered_map<Operation*, std::shared_ptr<Operation>> operations_;  // mutex_
  std::condition_variable all_over_;                                       // mutex_
};

/// Returns now plus `left`, on gRPC's monotonic clock: the wall clock moves no deadline.
gpr_timespec GrpcDeadline(Duration left);

/// Adds the token to a call's metadata, if its value is not empty.
void AddToken(grpc::ClientContext& context, const Token& token);

}  // namespace baton::etcd
