// TLS on a gRPC server, with certificates that can be replaced while it serves, and the names of
// those who call.
//
// gRPC 1.51 has a provider that reads certificates from files. It is not used: while a certificate
// and a key that don't belong together are in its files, it refuses every new connection.
//
// Any thread. A server accepts its connections on one thread: gRPC's own listeners, which may use
// several, would race with a change of the certificate.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include "base/server_identity.h"

namespace baton {

/// Each handshake uses what `identity` holds then. For one address of one server.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const ServerIdentity> identity);

/// The same for a server of one connection, which shakes hands once: with what `identity` holds
/// now.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentialsOfNow(const ServerIdentity& identity);

/// The name in the certificate of the client who calls, as NameInCertificate has it. Empty: it
/// showed none, or has none.
std::string CertificateOf(const grpc::CallbackServerContext& context);

}  // namespace baton
