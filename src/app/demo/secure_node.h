// SecureNode: what a node of a secure demo has besides: TLS and roles by certificates on its ports,
// HTTP, and an etcd that wants a certificate and a user.
//
// One thread.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "access/access.h"
#include "app/common/reloaded_files.h"
#include "app/ctl/ctl.h"
#include "base/pem.h"
#include "base/server_identity.h"
#include "baton/grpc.h"
#include "baton/node.h"
#include "baton/result.h"
#include "http/server.h"

namespace baton::app {

class SecureNode {
 public:
  /// Reads the node's files in the folder of DemoCertificates. kInvalidArgument: one can't be used.
  static Result<std::unique_ptr<SecureNode>> Load(const std::string& folder);

  /// The node's certificate now.
  PemTexts texts() const { return identity_->Get()->texts; }
  /// REQUIRES: as TlsServerCredentials says, so set GRPC_ARG_ALLOW_REUSEPORT to 0 if gRPC listens.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;
  /// As baton/grpc.h does it, with roles.
  std::unique_ptr<AdminService> Register(grpc::ServerBuilder& builder, Node& node) const;
  /// Serves HTTPS on a free port of 127.0.0.1. Errors: those of HttpServer::Start. REQUIRES: `node`
  /// outlives the server.
  Result<std::unique_ptr<http::HttpServer>> ServeHttp(Node& node) const;

  /// Reads the files, and uses what has changed, for new connections. If it can't be used, the
  /// earlier certificates stay, and the log says so. Call it again and again.
  void Look(Node& node);

 private:
  SecureNode(const ClientTls& files, std::shared_ptr<ServerIdentity> identity);

  const std::shared_ptr<ServerIdentity> identity_;
  const std::shared_ptr<access::Access> access_ =
      std::make_shared<access::Access>(access::Access::Defaults{});
  ReloadedFiles files_;
};

}  // namespace baton::app
