#include "app/demo/secure_node.h"

#include <utility>

#include "app/ctl/client.h"
#include "app/ctl/client_files.h"
#include "app/demo/certificates.h"
#include "app/demo/node.h"
#include "base/grpc/server_tls.h"
#include "runtime/admin/admin_service.h"

namespace baton::app {

Result<std::unique_ptr<SecureNode>> SecureNode::Load(const std::string& folder) {
  const ClientTls files = DemoFiles(folder, kDemoNode);
  const Result<PemTexts> texts = ReadClientPems(files);
  if (!texts) return texts.error();
  auto identity = ServerIdentity::Create(*texts, ClientCertificates::kRequire);
  if (!identity) return identity.error();
  return std::unique_ptr<SecureNode>(new SecureNode(files, std::move(identity).value()));
}

SecureNode::SecureNode(const ClientTls& files, std::shared_ptr<ServerIdentity> identity)
    : identity_(std::move(identity)),
      files_("the node's certificates",
             {{files.ca, texts().ca}, {files.cert, texts().cert}, {files.key, texts().key}}) {
  access_->SetRules({.certificates = {{std::string("cn:") + kDemoOperator, access::Role::kOperate},
                                      {std::string("cn:") + kDemoReader, access::Role::kRead}}});
}

// TlsServerCredentials wants connections to be accepted one after another. gRPC's own listener does
// so if nothing shares its port (GRPC_ARG_ALLOW_REUSEPORT), which is so here.
std::shared_ptr<grpc::ServerCredentials> SecureNode::credentials() const {
  return TlsServerCredentials(identity_);
}

std::unique_ptr<AdminService> SecureNode::Register(grpc::ServerBuilder& builder, Node& node) const {
  return runtime::RegisterAdminService(builder, node.control(), access::Gate(access_, nullptr));
}

Result<std::unique_ptr<http::HttpServer>> SecureNode::ServeHttp(Node& node) const {
  return http::HttpServer::Start(
      {.group = kDemoGroup, .address = "127.0.0.1:0", .tls = identity_, .access = access_},
      node.control(), {});
}

void SecureNode::Look(Node& node) {
  files_.Look([&](const std::vector<std::string>& texts) -> Status {
    const PemTexts pems{.ca = texts[0], .cert = texts[1], .key = texts[2]};
    if (const Status set = identity_->Set(pems); !set) return set;
    return node.SetEtcdCredentials({.password = kDemoEtcdPassword,
                                    .ca_pem = pems.ca,
                                    .cert_pem = pems.cert,
                                    .key_pem = pems.key});
  });
}

}  // namespace baton::app
