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

/// Each handshake uses what `identity` holds then. Use them for one address of one server, and only
/// if connections are accepted one after the other: by a listener of ours, or by gRPC's without
/// SO_REUSEPORT. Each call keeps `identity` until the process ends. The credentials take no
/// AuthMetadataProcessor: to set one aborts, here and with AddTlsPort.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const ServerIdentity> identity);

/// The same for a server of one connection, which shakes hands once: with what `identity` holds
/// now.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentialsOfNow(const ServerIdentity& identity);

/// Lets gRPC's own listeners serve `address` (host:port, or unix:/path) like that. A host name may
/// stand for several addresses. Each gets one socket, with credentials of its own: gRPC accepts
/// from a socket on one thread at a time. Each socket keeps `identity` until the process ends.
/// `port`: as grpc's AddListeningPort; 0 if no socket can listen, but one of several addresses is
/// enough. BuildAndStart asks for the host's addresses, and may wait for that. Turns SO_REUSEPORT
/// off for all ports of the server.
void AddTlsPort(grpc::ServerBuilder& builder, const std::string& address,
                std::shared_ptr<const ServerIdentity> identity, int* port);

/// The name in the certificate of the client who calls, as NameInCertificate has it. Empty: it
/// showed no certificate, or there is no name in it. The handshake has checked the certificate.
std::string CertificateOf(const grpc::CallbackServerContext& context);

}  // namespace baton
