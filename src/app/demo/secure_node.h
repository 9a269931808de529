// SecureNode: the additional parts of a node in a secure demo. These are TLS and roles by
// certificates on its ports, an HTTP server, and certificates for etcd.
//
// One thread at a time.
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
  /// Reads the node's files in the folder of a DemoCertificates. kInvalidArgument: a file can't be
  /// used.
  static Result<std::unique_ptr<SecureNode>> Load(const std::string& folder);

  /// The authority, certificate and key that the node uses now.
  PemTexts texts() const { return identity_->Get()->texts; }
  /// Credentials that follow the certificates. REQUIRES: the server accepts connections one after
  /// another (see TlsServerCredentials). If gRPC opens the port, set GRPC_ARG_ALLOW_REUSEPORT to 0.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;
  /// As RegisterAdminService of baton/grpc.h, but a caller needs a certificate: the operator's may
  /// change the group, the reader's may only read. REQUIRES: `node` outlives the service.
  std::unique_ptr<AdminService> Register(grpc::ServerBuilder& builder, Node& node) const;
  /// Serves HTTPS on a free port of 127.0.0.1. Errors: those of HttpServer::Start. REQUIRES: `node`
  /// outlives the server.
  Result<std::unique_ptr<http::HttpServer>> ServeHttp(Node& node) const;

  /// Reads the files, and uses changed certificates for new connections of the servers and of the
  /// node to etcd. If they can't be used, the earlier ones stay in use, and the log says so. If
  /// only `node` refuses them, the servers still use the new ones. Call it twice a second.
  void Look(Node& node);

 private:
  SecureNode(const ClientTls& files, std::shared_ptr<ServerIdentity> identity);

  const std::shared_ptr<ServerIdentity> identity_;
  const std::shared_ptr<access::Access> access_ =
      std::make_shared<access::Access>(access::Access::Defaults{});
  ReloadedFiles files_;
};

}  // namespace baton::app
