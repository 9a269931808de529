// GrpcCore: the state that the parts of GrpcTransport share. Only for this folder (it includes
// gRPC).
//
// GrpcCore owns connections, the endpoint book, the tokens and the register of outstanding
// operations. Thread-safe. It holds no lock while it calls gRPC or the caller's code.
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

/// A call or stream that is not over yet. It must drop its ClientContext and its stubs before it
/// unregisters. Otherwise the ClientContext and the stubs would keep the channel, and a connection
/// could outlive the transport.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Makes the operation end soon. Does not wait for its end. Any thread.
  virtual void Cancel() = 0;
};

/// The use of a connection. The value is the index of the connection's channel in
/// EndpointStubs::channels.
enum class Use { kUnary, kKeepAlive, kWatch };

/// The stubs of one endpoint. Unary calls, keepalives and watches have a connection each; all use
/// the same certificates.
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

  /// The options, with the credentials from the start, even after SetCredentials.
  const GrpcTransportOptions& options() const { return options_; }
  TokenKeeper& tokens() { return tokens_; }
  /// Whether some endpoint has TLS.
  bool uses_tls() const;
  /// As GrpcTransport::SetCredentials. REQUIRES: CheckPem accepts the certificates (base/pem.h).
  void SetCredentials(const EtcdCredentials& credentials);
  /// Calls the options' on_credentials, if it is set. REQUIRES: no lock is held.
  void TellOfCredentials(const std::string& what, const CallStatus& status);

  /// Registers an operation, and keeps it alive until Unregister. False: the transport is closing,
  /// and the operation must not start.
  bool Register(std::shared_ptr<Operation> operation);
  /// Returns what Register got. REQUIRES (not checked): this is the operation's last use of the
  /// core, and the caller keeps the result until its own function returns, because the operation
  /// may be destroyed with it.
  [[nodiscard]] std::shared_ptr<Operation> Unregister(Operation* operation);
  bool closing() const { return closing_.load(); }
  /// Cancels all operations and waits until they have unregistered. From now on Register returns
  /// false. May be called again. REQUIRES (checked): not called inside a callback of a transport.
  void Close();

  /// Completes the steps of unary calls and watches. REQUIRES: the operation is registered.
  grpc::CompletionQueue& queue() { return completions_.queue(); }
  /// Completes the steps of keepalives. They have a thread of their own, so they don't wait while a
  /// large answer is decoded.
  grpc::CompletionQueue& keepalive_queue() { return keepalive_completions_.queue(); }

  std::size_t endpoint_count() const { return endpoints_.size(); }
  const std::string& address(std::size_t endpoint) const { return endpoints_[endpoint].address; }
  /// The endpoint's connections. The caller keeps them while it starts a call; a started call keeps
  /// its connection by itself. REQUIRES (not checked), here and in the functions below: `endpoint`
  /// is below endpoint_count().
  std::shared_ptr<EndpointStubs> stubs(std::size_t endpoint);
  // The next six use the endpoint book: see EndpointBook.
  std::size_t CurrentEndpoint();
  std::optional<std::size_t> NextEndpoint(const std::vector<bool>& tried);
  /// The best endpoint whose address is not `avoid`, or the current one if there is no other.
  std::size_t EndpointOtherThan(const std::string& avoid);
  void ReportAnswered(std::size_t endpoint);
  /// `use`: what the connection is for. Its state shows whether etcd itself gave the answer or
  /// could not be reached.
  void ReportUnavailable(std::size_t endpoint, Use use);
  void ReportMissed(std::size_t endpoint, TimePoint sent);

  /// Starts the due probes of quarantined endpoints and the due trials of certificates. Each new
  /// call or stream calls this. No timer does, because only calls and streams need the results.
  void StartDueProbes();

 private:
  /// Why newer connections are tried.
  enum class Newer {
    kNone,          ///< they are not
    kCertificates,  ///< there are newer certificates
    kLookUp,        ///< the endpoint's name has to be looked up again
  };

  /// An endpoint's connections, and a trial of newer ones on which etcd has not answered yet.
  struct Connections {
    std::shared_ptr<EndpointStubs> current = nullptr;
    std::shared_ptr<EndpointStubs> trial = nullptr;  ///< null: no trial runs
    Newer wanted = Newer::kNone;
    /// When a connection failed first since etcd was reached last; max(): none has failed since.
    TimePoint unreachable_since = TimePoint::max();
    TimePoint tried_at{};
    Duration pause{};   ///< the time from one trial to the next
    bool told = false;  ///< the failure of the newer certificates was reported
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

/// The time that is `left` after now, on gRPC's monotonic clock. So steps of the wall clock move no
/// deadline.
gpr_timespec GrpcDeadline(Duration left);

/// Adds the token, if there is one, to a call's metadata.
void AddToken(grpc::ClientContext& context, const Token& token);

}  // namespace baton::etcd
