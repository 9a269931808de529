// SecureNode: the parts that a node of a secure demo has in addition. These are TLS on the node's
// ports, with roles for certificates; an HTTP server; and certificates for etcd.
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
  /// Reads the node's certificate files (DemoFiles). `folder`: that of a DemoCertificates.
  /// kInvalidArgument: a file can't be used.
  static Result<std::unique_ptr<SecureNode>> Load(const std::string& folder);

  /// The authority, certificate and key that the node uses now.
  PemTexts texts() const { return identity_->Get()->texts; }
  /// Returns credentials that follow changes of the certificates. REQUIRES (not checked): the
  /// server accepts connections one after another (see TlsServerCredentials). If gRPC itself
  /// listens on the port, this needs GRPC_ARG_ALLOW_REUSEPORT = 0.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;
  /// Like RegisterAdminService of baton/grpc.h, but a caller needs a certificate. With the
  /// operator's certificate, it may change the group. With the reader's certificate, it may only
  /// read. REQUIRES: `node` outlives the service.
  std::unique_ptr<AdminService> Register(grpc::ServerBuilder& builder, Node& node) const;
  /// Serves HTTPS on a free port of 127.0.0.1. Errors: those of HttpServer::Start. REQUIRES: `node`
  /// outlives the server.
  Result<std::unique_ptr<http::HttpServer>> ServeHttp(Node& node) const;

  /// Reads the files. Uses changed certificates for new connections to the servers, and for new
  /// connections of `node` to etcd. If new certificates can't be used, the earlier ones stay in
  /// use. If only `node` refuses new certificates, the servers use them nevertheless. In both
  /// cases, the log says so, and the next call tries again. Call Look twice a second.
  void Look(Node& node);

 private:
  SecureNode(const ClientTls& files, std::shared_ptr<ServerIdentity> identity);

  const std::shared_ptr<ServerIdentity> identity_;
  const std::shared_ptr<access::Access> access_ =
      std::make_shared<access::Access>(access::Access::Defaults{});
  ReloadedFiles files_;
};

}  // namespace baton::app
