// AdminSocket: a unix socket at which root and this process's user call batond's gRPC services,
// without TLS.
//
// The socket has a gRPC server of its own, with its own memory for calls (kAdminMemory). If callers
// at the port use up the memory of the port's server, that server ends calls of everybody.
// Operators are still served at the admin socket.
//
// Root and this process's user both count as this process's user (access::Callers). Connections of
// all other users are closed, and the log says so at most once a minute. REQUIRES (not checked):
// only root and this process's user can write in the socket's folder. Otherwise another user could
// put a socket there, and answer for the node.
//
// One thread at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include "access/callers.h"
#include "app/daemon/connection_listener.h"
#include "baton/result.h"

namespace baton::app {

class AdminSocket {
 public:
  struct Options {
    std::string path;
    /// The services of the port's server. (A service with callbacks may belong to several servers.)
    /// REQUIRES: they outlive this object.
    std::vector<grpc::Service*> services;
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        interceptors;
    /// The bounds of the port. The admin socket may use 16 descriptors more, so that operators get
    /// in when the port is full. ConnectionShares does not limit connections at the admin socket.
    ConnectionListener::Bounds bounds;
  };

  /// Serves at Options::path. The socket's file has mode 600. Replaces a socket file on which
  /// nobody listens, but no other file. Calls TrustUnixSockets of `callers`, even if an error
  /// follows. The health service answers "not serving" at first. kUnavailable: the socket can't
  /// listen; the message says why. kInternal: gRPC's server can't be started. REQUIRES: the path is
  /// absolute (not checked) and has at most kLongestSocketPath bytes (checked).
  static Result<std::unique_ptr<AdminSocket>> Serve(Options options, access::Callers& callers);
  /// Removes the socket's file, stops listening, and ends the server (see End).
  ~AdminSocket();
  AdminSocket(const AdminSocket&) = delete;
  AdminSocket& operator=(const AdminSocket&) = delete;

  /// The server's health service.
  grpc::HealthCheckServiceInterface& health() { return *server_->GetHealthCheckService(); }

 private:
  explicit AdminSocket(std::string path) : path_(std::move(path)) {}
  Status Start(Options options);
  void Take(int connection);

  const std::string path_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
  bool owns_path_ = false;
  std::chrono::steady_clock::time_point quiet_until_{};  ///< only the listener's thread
  std::unique_ptr<ConnectionListener> listener_;
};

/// Hands a connected socket over to a server, which owns the socket from now on and closes it. Any
/// thread. REQUIRES (not checked): the server runs.
void HandOver(int connection, grpc::experimental::ExternalConnectionAcceptor& server);
/// Ends the server. Calls may go on for a second; then they are cancelled. Then waits without a
/// bound for every handler.
void End(grpc::Server& server);

}  // namespace baton::app
