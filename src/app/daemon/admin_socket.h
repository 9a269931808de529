// AdminSocket: a unix socket at which root and this process's user call the gRPC server, without
// TLS.
//
// A caller there counts as this process's user (access::Callers). A user who can write in the
// socket's folder can put another socket in its place, and so be taken for the node.
//
// One thread. End it before the server.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "access/callers.h"
#include "app/daemon/connection_listener.h"
#include "baton/result.h"

namespace baton::app {

class AdminSocket {
 public:
  /// Prepares the server that `builder` will start, and `callers`, which are that server's. Does
  /// not listen yet. REQUIRES: `path` is absolute and has at most kLongestSocketPath bytes.
  AdminSocket(std::string path, grpc::ServerBuilder& builder, access::Callers& callers);
  /// Removes the file if it listens. Connections go on until the server ends.
  ~AdminSocket();
  AdminSocket(const AdminSocket&) = delete;
  AdminSocket& operator=(const AdminSocket&) = delete;

  /// Listens, and replaces a socket file that nobody listens on. The new one has mode 600.
  /// `bounds`: those of the server's port; a few more are served here. kUnavailable: it can't
  /// listen; the message says why. REQUIRES: the server has started; called once.
  Status Listen(ConnectionListener::Bounds bounds);

 private:
  void Take(int connection);

  const std::string path_;
  const std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  bool owns_path_ = false;
  std::chrono::steady_clock::time_point quiet_until_{};  ///< only the listener's thread
  std::unique_ptr<ConnectionListener> listener_;
};

/// Hands a connected socket over to a server, which closes it. Any thread. REQUIRES: the server
/// runs.
void HandOver(int connection, grpc::experimental::ExternalConnectionAcceptor& server);

}  // namespace baton::app
