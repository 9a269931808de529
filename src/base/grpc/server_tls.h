// TLS on a gRPC server, with certificates that can be replaced while it serves, and the names of
// those who call.
//
// gRPC 1.51 has a provider that reads certificates from files. It is not used: while a certificate
// and a key that don't belong together are in its files, it refuses every new connection.
//
// Any thread. When gRPC accepts a connection, it asks for the newest certificate, and frees what it
// made of the earlier one. No lock of gRPC's keeps another accepting thread from using that
// meanwhile. So the connections that share credentials must be accepted one after the other.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include "base/server_identity.h"

namespace baton {

/// Each handshake uses what `identity` holds then. For one address of one server, whose connections
/// are accepted one after the other: by a listener that is not gRPC's.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const ServerIdentity> identity);

/// The same for a server of one connection, which shakes hands once: with what `identity` holds
/// now.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentialsOfNow(const ServerIdentity& identity);

/// Lets gRPC's own listeners serve `address` (host:port, or unix:/path) like that. Each socket that
/// the host's name stands for has credentials of its own, and none shares its port with another:
/// gRPC accepts from one socket on one thread at a time. `port`: as grpc's AddListeningPort.
/// Forbids SO_REUSEPORT for all ports of the server.
void AddTlsPort(grpc::ServerBuilder& builder, const std::string& address,
                std::shared_ptr<const ServerIdentity> identity, int* port);

/// The name in the certificate of the client who calls, as NameInCertificate has it. Empty: it
/// showed none, or has none.
std::string CertificateOf(const grpc::CallbackServerContext& context);

}  // namespace baton
