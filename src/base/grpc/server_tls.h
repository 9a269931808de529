// TlsServerCredentials, AddTlsPort: TLS for gRPC servers, with certificates that can be replaced
// while the server runs. CertificateOf: the certificate of a caller.
//
// Any thread. REQUIRES (not checked): connections with the same credentials are accepted one after
// another. Reason: when gRPC accepts a connection, it may free the state of an earlier certificate.
// Another accepting thread may still use this state, and no lock of gRPC protects it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include "base/client_certificate.h"
#include "base/server_identity.h"

namespace baton {

/// For how long a client can resume a TLS session with our gRPC servers. When a session is resumed,
/// OpenSSL does not verify the client's certificate, but gives the client a ticket for the next
/// resumption. Without this bound, a client with an expired certificate could connect for ever.
inline constexpr std::chrono::seconds kTicketsFor{15};

/// Returns credentials. Each handshake uses the texts that `identity` has at that time. gRPC's keys
/// for tickets last for `tickets_for`: the first handshake after that makes new keys. The first
/// handshake after ServerIdentity::Set also makes new keys. From then on, no earlier session is
/// resumed. Each call of this function keeps `identity` in memory until the process ends. REQUIRES
/// (not checked):
///  - The credentials are used for one address of one server.
///  - Connections are accepted one after another: by a listener of ours, or by gRPC's listener
///    without SO_REUSEPORT.
///  - Nobody calls SetAuthMetadataProcessor of the result: the call would abort.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const ServerIdentity> identity,
    std::chrono::milliseconds tickets_for = kTicketsFor);

/// Returns credentials with the texts that `identity` has now. ServerIdentity::Set does not change
/// these credentials. They are for a server with a single connection, which has a single handshake.
/// Does not keep `identity` in memory.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentialsOfNow(const ServerIdentity& identity);

/// Makes gRPC's own listeners serve `address` (host:port, or unix:/path) with the TLS of
/// TlsServerCredentials and kTicketsFor. If a host name has several addresses, each address gets a
/// socket with its own credentials. Each socket keeps `identity` in memory until the process ends.
/// Turns SO_REUSEPORT off for the whole server. BuildAndStart resolves the host, which may take
/// time. If no socket can listen, BuildAndStart returns null, and leaves `*port` as it was.
/// Otherwise it sets `*port`, unless `port` is null. REQUIRES (not checked): called before
/// BuildAndStart; `*port` lives until BuildAndStart returns.
void AddTlsPort(grpc::ServerBuilder& builder, const std::string& address,
                std::shared_ptr<const ServerIdentity> identity, int* port);

/// Returns the certificate of the calling client. The handshake has verified the certificate, which
/// may have expired since then. If the client showed no certificate, or the connection has no TLS,
/// returns ClientCertificate{}: no name, never expires.
ClientCertificate CertificateOf(const grpc::CallbackServerContext& context);

}  // namespace baton
