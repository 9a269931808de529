// AdminSocket: a unix socket at which root and this process's user call the gRPC server, without
// TLS.
//
// Both count as this process's user (access::Callers). The connection of any other user is closed,
// and the log says so at most once a minute. REQUIRES: only root and this process's user can write
// in the socket's folder. Otherwise somebody else could put another socket there, and answer for
// the node.
//
// One thread at a time. REQUIRES: this object ends before the server.
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
  /// Prepares the server that `builder` will start. Calls TrustUnixSockets of `callers`, which are
  /// that server's. Does not listen yet. REQUIRES: `path` is absolute and has at most
  /// kLongestSocketPath bytes.
  AdminSocket(std::string path, grpc::ServerBuilder& builder, access::Callers& callers);
  /// Stops listening and removes the socket's file, if Listen created it. Connections go on until
  /// the server ends.
  ~AdminSocket();
  AdminSocket(const AdminSocket&) = delete;
  AdminSocket& operator=(const AdminSocket&) = delete;

  /// Listens at the path; the file has mode 600. Replaces a socket file that nobody listens on, but
  /// no other file. `bounds`: those of the server's port. Here 16 more descriptors may be in use,
  /// so that operators get in when the port is full. ConnectionShares does not limit them here.
  /// kUnavailable: it can't listen; the message says why. REQUIRES: the server has started; called
  /// once.
  Status Listen(ConnectionListener::Bounds bounds);

 private:
  void Take(int connection);

  const std::string path_;
  const std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  bool owns_path_ = false;
  std::chrono::steady_clock::time_point quiet_until_{};  ///< only the listener's thread
  std::unique_ptr<ConnectionListener> listener_;
};

/// Hands a connected socket over to a server, which owns and closes it from now on. Any thread.
/// REQUIRES: the server runs.
void HandOver(int connection, grpc::experimental::ExternalConnectionAcceptor& server);

}  // namespace baton::app
