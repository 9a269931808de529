// AdminSocket: a unix socket at which root and this process's user call batond's gRPC services,
// without TLS.
//
// It has a gRPC server of its own, and with it memory of its own for calls (kAdminMemory). So
// operators are served here even if callers at the port use up all memory of the port's server,
// which then ends calls of everybody.
//
// Both users count as this process's user (access::Callers). The connection of any other user is
// closed, and the log says so at most once a minute. REQUIRES: only root and this process's user
// can write in the socket's folder. Otherwise somebody else could put another socket there, and
// answer for the node.
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
    /// Those of the port's server: services with callbacks may have several servers. They outlive
    /// this object.
    std::vector<grpc::Service*> services;
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        interceptors;
    /// Those of the port. Here 16 more descriptors may be in use, so that operators get in when the
    /// port is full. ConnectionShares does not limit them here.
    ConnectionListener::Bounds bounds;
  };

  /// Serves at the path; the file has mode 600. Replaces a socket file that nobody listens on, but
  /// no other file. Calls TrustUnixSockets of `callers`. The health service answers "not serving"
  /// at first. kUnavailable: it can't listen; the message says why. kInternal: gRPC's server can't
  /// be started. REQUIRES: the path is absolute and has at most kLongestSocketPath bytes.
  static Result<std::unique_ptr<AdminSocket>> Serve(Options options, access::Callers& callers);
  /// Stops listening, removes the socket's file, and ends the server: calls may go on for a second,
  /// and it waits for every handler.
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

/// Hands a connected socket over to a server, which owns and closes it from now on. Any thread.
/// REQUIRES: the server runs.
void HandOver(int connection, grpc::experimental::ExternalConnectionAcceptor& server);
/// Ends the server: calls may go on for a second, and it waits for every handler.
void End(grpc::Server& server);

}  // namespace baton::app
