// TLS on a gRPC server, with certificates that can be replaced while the server runs, and the names
// in callers' certificates.
//
// gRPC 1.51 has a provider that reads certificates from files. It is not used, because it refuses
// every new connection while its files have a certificate and a key that don't belong together.
//
// Any thread. REQUIRES (not checked): the connections that share credentials are accepted one after
// another. When gRPC accepts a connection, it asks for the newest certificate, and frees the state
// that it made from the earlier one. No lock of gRPC protects this state from another accepting
// thread.
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

/// How long gRPC's servers resume a client's TLS session. OpenSSL does not verify the certificate
/// of a client that resumes a session, and gives this client another ticket, with which it can
/// resume the session again. Without this bound a client whose certificate has expired would get in
/// again and again.
inline constexpr std::chrono::seconds kTicketsFor{15};

/// Returns credentials whose every handshake uses the newest texts of `identity`. gRPC's keys for
/// tickets last for `tickets_for`: if they are older, the next handshake makes new keys, and from
/// then on no earlier session is resumed. New texts bring new keys, too. Each call of this function
/// keeps `identity` in memory until the process ends. REQUIRES (not checked):
///  - The credentials are used for one address of one server.
///  - Connections are accepted one after another, by a listener of ours, or by gRPC's listener
///    without SO_REUSEPORT.
///  - Nobody calls the result's SetAuthMetadataProcessor, which would abort.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const ServerIdentity> identity,
    std::chrono::milliseconds tickets_for = kTicketsFor);

/// Returns credentials with the texts that `identity` has now. ServerIdentity::Set does not change
/// these credentials. For a server of one connection, which has only one handshake. Does not keep
/// `identity` in memory.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentialsOfNow(const ServerIdentity& identity);

/// Makes gRPC's own listeners serve `address` (host:port, or unix:/path) with TLS as in
/// TlsServerCredentials. If a host name has several addresses, each gets a socket with credentials
/// of its own, because gRPC accepts from a socket on one thread at a time. Each socket keeps
/// `identity` in memory until the process ends. BuildAndStart resolves the host, which may take
/// time. Then it sets `*port`, unless `port` is null. If no socket can listen, it returns null
/// instead, and leaves `*port`. Turns SO_REUSEPORT off for the whole server. REQUIRES (not
/// checked): called before BuildAndStart; `*port` lives until then.
void AddTlsPort(grpc::ServerBuilder& builder, const std::string& address,
                std::shared_ptr<const ServerIdentity> identity, int* port);

/// Returns the calling client's certificate. The handshake has verified it, but it may have expired
/// since then. If the client showed no certificate, returns ClientCertificate{}: no name, never
/// expires.
ClientCertificate CertificateOf(const grpc::CallbackServerContext& context);

}  // namespace baton
