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
// To renew certificates, write their files. Within about 1 s, new channels and new connections of
// servers use the new certificates. Open connections go on; only a Router replaces its own (see
// Router::SetCredentials). Each object has one thread, which reads the files twice a second, and
// logs nothing. FromFiles throws if the system gives no thread or memory. A file that is a pipe is
// read only once, by FromFiles, which waits for the pipe's writer. Thread-safe, except the
// destructors.
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
  /// certificates, then remove the earlier one. The two authorities must have different subject
  /// names.
  std::string ca_file;
  /// REQUIRED: 1 to 16 entries, which name the group's nodes and relays. A certificate's name is
  /// the first of these that it has: its spiffe:// URI; "dns:" and its first DNS name; "cn:" and
  /// its common name. A certificate has no name in these cases:
  ///  - It has several URIs, and one of them is spiffe://.
  ///  - Its spiffe:// URI has more than 2,048 bytes, or lacks a path, or lacks a host of 1 to 255
  ///    bytes.
  ///  - A URI or DNS name has a zero byte, or the common name has one and would be the name.
  ///
  /// An entry has one of three forms:
  ///  - A whole name: spiffe://DOMAIN/PATH, dns:NAME or cn:NAME.
  ///  - The beginning of a name, with "*" for the rest. It has at least spiffe://, dns: or cn:.
  ///  - "*" alone, which fits every name.
  ///
  /// Choose entries that fit only the servers' own certificates. For example,
  /// "spiffe://example.org/orders/*" also fits an operator named
  /// "spiffe://example.org/orders/operator/ann", who could then serve your requests. A certificate
  /// without a name fits no entry, not even "*".
  std::vector<std::string> servers;
  /// A PEM file with this caller's own certificate first, then the certificates between it and its
  /// authority. The caller shows them to servers that ask for a certificate. Empty: the caller
  /// shows no certificate.
  std::string cert_file = {};
  /// The key of the certificate in `cert_file`, without a password. Give both files or neither.
  std::string key_file = {};
};

class BATON_EXPORT GroupCredentials {
 public:
  /// Reads the files, and waits for the file system. Errors: kInvalidArgument, in these cases (the
  /// message says which):
  ///  - An option is invalid.
  ///  - A file can't be read, is empty, has more than 1 MiB, or has no PEM text that OpenSSL can
  ///    read (a key with a password, for example).
  ///  - The certificate and the key don't belong together.
  static Result<std::shared_ptr<const GroupCredentials>> FromFiles(GroupCredentialsOptions options);
  /// Ends the thread, and may wait for files. The results of Get stay usable. Does nothing in a
  /// forked child.
  ~GroupCredentials();
  GroupCredentials(const GroupCredentials&) = delete;
  GroupCredentials& operator=(const GroupCredentials&) = delete;

  /// The newest credentials, for channels of your own; never null. A channel keeps the credentials
  /// with which it was made. Get returns another object only after a change of the files. Waits
  /// only for a short lock.
  std::shared_ptr<grpc::ChannelCredentials> Get() const;
  /// Why the files' present content is not used, as one line; empty: nothing is wrong. Meanwhile
  /// the earlier credentials stay in use. The line is set once two reads in a row have found the
  /// same error. The first read without this error empties it. Dates are not checked, so a
  /// certificate that has expired is no error here. Waits only for a short lock.
  std::string problem() const;

 private:
  class Impl;
  explicit GroupCredentials(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ServerCertificateFiles {
  /// REQUIRED: a PEM file with the server's own certificate first, then the certificates between it
  /// and its authority.
  std::string cert_file;
  std::string key_file;  ///< REQUIRED: the key of that certificate, without a password
  /// A PEM file with the certificates of authorities. Each client must show a valid certificate
  /// that one of these authorities has signed; its name does not matter. Empty: the server asks for
  /// no certificate, and every client gets in.
  std::string client_ca_file = {};
};

class BATON_EXPORT ServerCertificates {
 public:
  /// Reads the files, and waits for the file system. Errors: kInvalidArgument, in the cases of
  /// GroupCredentials::FromFiles, or if OpenSSL refuses the certificate or its key, for example
  /// because the key is too short.
  static Result<std::unique_ptr<ServerCertificates>> FromFiles(ServerCertificateFiles files);
  /// As ~GroupCredentials. Servers go on with the last certificates that were used.
  ~ServerCertificates();
  ServerCertificates(const ServerCertificates&) = delete;
  ServerCertificates& operator=(const ServerCertificates&) = delete;

  /// Lets the builder's server listen at `address` with TLS. Call this instead of the builder's own
  /// AddListeningPort. The address is unix:/path or host:port; with port 0 the system picks a free
  /// port. BuildAndStart looks the host up, which may take time. If the server can listen at one or
  /// more of the host's addresses, BuildAndStart sets `*port` to the port (1 for a unix socket),
  /// unless `port` is null. If it can't listen at any of them, BuildAndStart returns null and does
  /// not change `*port`. Each address at which the server listens keeps some kB in memory until the
  /// process ends. REQUIRES: called before BuildAndStart; `*port` lives until BuildAndStart has
  /// returned.
  ///
  /// AddListeningPort also turns SO_REUSEPORT off for the whole server. With SO_REUSEPORT gRPC 1.51
  /// accepts connections on several threads, which is unsafe while certificates are replaced.
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
