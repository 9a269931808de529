// TLS with certificates that are read again when their files change: GroupCredentials for the
// callers of a group, ServerCertificates for gRPC servers of yours. Opt-in: needs gRPC;
// find_package(baton COMPONENTS grpc), link baton::grpc.
//
//   auto credentials = baton::GroupCredentials::FromFiles(
//       {.ca_file = "/etc/orders/ca.pem",
//        .servers = {"spiffe://example.org/orders/node/*"},
//        .cert_file = "/etc/orders/caller.pem",
//        .key_file = "/etc/orders/caller.key"});
//   if (!credentials) return Fail(credentials.error().message);
//   auto router = baton::Router::Start({.group = "orders",
//                                       .endpoints = {"10.0.0.7:7400"},
//                                       .group_credentials = *credentials});
//
// A caller trusts a server if the server's certificate is signed by an authority of `ca_file`, is
// valid now, and has one of the names in `servers`. The server's address is not compared with the
// certificate. A node of another group can't serve your requests, even if the same authority signed
// its certificate. Connections use TLS 1.2 or later.
//
// A server:
//
//   auto certificates =
//       baton::ServerCertificates::FromFiles({.cert_file = "/etc/orders/node.pem",
//                                             .key_file = "/etc/orders/node.key",
//                                             .client_ca_file = "/etc/orders/ca.pem"});
//   if (!certificates) return Fail(certificates.error().message);
//   grpc::ServerBuilder builder;
//   (*certificates)->AddListeningPort(builder, "0.0.0.0:7400");
//
// To renew certificates, write their files: within about 1 s new channels and servers' new
// connections use them; open connections go on. Each object has one thread, which reads the files
// twice a second, and logs nothing. FromFiles throws if the system gives no thread or memory. A
// pipe is read once: FromFiles waits for its writer. Thread-safe, except the destructors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/security/credentials.h>

#include "baton/export.h"
#include "baton/result.h"

namespace grpc {
class ServerBuilder;
}

namespace baton {

struct GroupCredentialsOptions {
  /// REQUIRED: a PEM file with the certificates of the authorities that sign the servers'
  /// certificates. To change an authority, first add the new one here, then renew the servers'
  /// certificates, then remove the earlier one. The two must have different subject names.
  std::string ca_file;
  /// REQUIRED: the names of the group's nodes and relays, 1 to 16 of them. A certificate's name is
  /// the first of these that it has: its spiffe:// URI; "dns:" and its first DNS name; "cn:" and
  /// its common name. It has no name if it has several URIs and one of them is spiffe://, if its
  /// spiffe:// URI is too long or lacks a host or path, or if a URI or DNS name has a zero byte.
  ///
  /// Each entry is a whole name (spiffe://DOMAIN/PATH, dns:NAME, cn:NAME), the beginning of a name
  /// (at least spiffe://, dns: or cn:) and "*" for the rest, or "*" alone. Choose entries that fit
  /// only the servers' own certificates. For example, "spiffe://example.org/orders/*" also fits an
  /// operator named "spiffe://example.org/orders/operator/ann", who could then serve your requests.
  /// A certificate without a name fits nothing.
  std::vector<std::string> servers;
  /// If servers ask for a certificate: a PEM file with this caller's, and the certificates between
  /// it and its authority. Empty: the caller shows none.
  std::string cert_file = {};
  std::string key_file = {};  ///< its key, without a password; give both files or neither
};

class BATON_EXPORT GroupCredentials {
 public:
  /// Reads the files, and waits for the file system. kInvalidArgument, in these cases (the message
  /// says which):
  ///  - An option is invalid.
  ///  - A file can't be read, is empty, has more than 1 MiB, or is no PEM text.
  ///  - The certificate and the key don't belong together.
  static Result<std::shared_ptr<const GroupCredentials>> FromFiles(GroupCredentialsOptions options);
  /// Ends the thread; may wait for files. Get's results stay usable. No effect in a forked child.
  ~GroupCredentials();
  GroupCredentials(const GroupCredentials&) = delete;
  GroupCredentials& operator=(const GroupCredentials&) = delete;

  /// The newest credentials, for channels of your own; never null. Each channel keeps those with
  /// which it was made. Returns another object only after a change. Waits only for a short lock.
  std::shared_ptr<grpc::ChannelCredentials> Get() const;
  /// Why the files' present content is not used, as one line; empty: nothing is wrong. Dates are
  /// not checked. It is set after two reads in a row found the same error. The earlier credentials
  /// stay in use. The first read without this error empties it. Waits only for a short lock.
  std::string problem() const;

 private:
  class Impl;
  explicit GroupCredentials(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ServerCertificateFiles {
  /// REQUIRED: a PEM file with the server's certificate, and the certificates between it and its
  /// authority.
  std::string cert_file;
  std::string key_file;  ///< REQUIRED: its key, without a password
  /// A PEM file with the certificates of the authorities that sign the clients': each client must
  /// show a valid certificate signed by one of them, under any name. Empty: the server
  /// asks for no certificate, and every client gets in.
  std::string client_ca_file = {};
};

class BATON_EXPORT ServerCertificates {
 public:
  /// Reads the files. kInvalidArgument: as GroupCredentials::FromFiles says, or OpenSSL refuses the
  /// certificate or its key, for example because the key is too short.
  static Result<std::unique_ptr<ServerCertificates>> FromFiles(ServerCertificateFiles files);
  /// As ~GroupCredentials. Servers then keep the last certificates.
  ~ServerCertificates();
  ServerCertificates(const ServerCertificates&) = delete;
  ServerCertificates& operator=(const ServerCertificates&) = delete;

  /// Lets the builder's server listen at `address` with TLS, in place of the builder's own method.
  /// The address is host:port, where port 0 picks a free one, or unix:/path. BuildAndStart looks
  /// the host up, which may take time. If it can listen at one of the host's addresses at least, it
  /// sets `*port` (to 1 for a unix socket), unless `port` is null. Otherwise it returns null and
  /// leaves `*port`. REQUIRES: called before BuildAndStart; `*port` lives until then.
  ///
  /// Also turns SO_REUSEPORT off for the whole server. With SO_REUSEPORT gRPC 1.51 accepts
  /// connections on several threads, which is unsafe while certificates are replaced.
  void AddListeningPort(grpc::ServerBuilder& builder, const std::string& address,
                        int* port = nullptr) const;
  /// See GroupCredentials::problem.
  std::string problem() const;

 private:
  class Impl;
  explicit ServerCertificates(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton
