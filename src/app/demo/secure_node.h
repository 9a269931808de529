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
  /// Reads the node's files in the folder of DemoCertificates.
  static Result<std::unique_ptr<SecureNode>> Load(const std::string& folder);

  /// The node's certificate now.
  PemTexts texts() const { return identity_->Get()->texts; }
  std::shared_ptr<grpc::ServerCredentials> credentials() const;
  /// As baton/grpc.h does it, with roles.
  std::unique_ptr<AdminService> Register(grpc::ServerBuilder& builder, Node& node) const;
  /// REQUIRES: `node` outlives the server.
  Result<std::unique_ptr<http::HttpServer>> ServeHttp(Node& node) const;

  /// Uses what has changed in the files.
  void Look(Node& node);

 private:
  SecureNode(const ClientTls& files, std::shared_ptr<ServerIdentity> identity);

  const std::shared_ptr<ServerIdentity> identity_;
  const std::shared_ptr<access::Access> access_ =
      std::make_shared<access::Access>(access::Access::Defaults{});
  ReloadedFiles files_;
};

}  // namespace baton::app
