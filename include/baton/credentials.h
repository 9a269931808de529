// TLS with certificates that are read again when their files change. GroupCredentials is for the
// callers of a group, ServerCertificates is for gRPC servers of yours. Opt-in: needs gRPC;
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
// A caller trusts a server's certificate if (a) the certificate is valid now, (b) an authority of
// `ca_file` has signed it, and (c) an entry of `servers` fits its name. Nobody compares the
// server's address with the certificate. A node of another group is not trusted if no entry fits
// its name, even if the same authority has signed its certificate. Connections use TLS 1.2 or
// later.
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
// To renew certificates, overwrite their files. Within about 1 s, callers use the new certificates
// for new channels, and servers use them for new connections. Open connections stay open, except
// those of a Router (see Router::SetCredentials). Each object has one thread, which reads the files
// twice a second. Neither class logs anything: see problem(). If a file is a pipe, FromFiles reads
// the pipe to its end, and the thread never reads it again. FromFiles throws std::system_error if
// the system gives no thread. Thread-safe, except the destructors.
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
  /// certificates. To change an authority: (1) add the new authority to the file; (2) renew the
  /// servers' certificates; (3) remove the earlier authority from the file. The two authorities
  /// must have different subject names.
  std::string ca_file;
  /// REQUIRED: 1 to 16 entries, which name the group's nodes and relays. A certificate's name is
  /// the first of these that it has: its spiffe:// URI; "dns:" and its first DNS name; "cn:" and
  /// its common name. A certificate has no name in these cases:
  ///  - It has several URIs, and one of them is spiffe://.
  ///  - Its spiffe:// URI has more than 2,048 bytes, no path, or no host of 1 to 255 bytes.
  ///  - A URI or a DNS name in it has a zero byte.
  ///  - Its name would be the common name, and the common name has a zero byte.
  ///
  /// An entry has one of three forms:
  ///  - A whole name: spiffe://DOMAIN/PATH, dns:NAME or cn:NAME.
  ///  - The beginning of a name, then "*". The beginning has at least spiffe://, dns: or cn:.
  ///  - "*" alone, which fits every name.
  ///
  /// No entry fits a certificate without a name, not even "*". Choose entries that fit the servers'
  /// certificates and no others. A bad example is "spiffe://example.org/orders/*": this entry fits
  /// the operator "spiffe://example.org/orders/operator/ann", too. So the operator could serve your
  /// requests.
  std::vector<std::string> servers;
  /// A PEM file with this caller's own certificate first, and then the intermediate certificates up
  /// to its authority. The caller shows these certificates to servers that ask for a certificate.
  /// Empty: the caller shows no certificate.
  std::string cert_file = {};
  /// The key of the first certificate in `cert_file`, without a password. Give both files or
  /// neither.
  std::string key_file = {};
};

class BATON_EXPORT GroupCredentials {
 public:
  /// Reads the files. Blocks as long as the file system does, or until a pipe's writer has closed
  /// the pipe. kInvalidArgument, in these cases (the message says which):
  ///  - An option is invalid.
  ///  - A file can't be read, is empty, or has more than 1 MiB.
  ///  - OpenSSL can't read the PEM text in a file, for example because a key has a password.
  ///  - The key does not belong to the first certificate.
  static Result<std::shared_ptr<const GroupCredentials>> FromFiles(GroupCredentialsOptions options);
  /// Ends the thread, and waits until the thread has read the files that it is reading. The results
  /// of Get stay usable. Does nothing in a forked child.
  ~GroupCredentials();
  GroupCredentials(const GroupCredentials&) = delete;
  GroupCredentials& operator=(const GroupCredentials&) = delete;

  /// The newest credentials, for channels of your own; never null. A channel keeps the credentials
  /// with which it was made. Get returns the same object until the files change. Waits only for a
  /// short lock.
  std::shared_ptr<grpc::ChannelCredentials> Get() const;
  /// Why the present content of the files is not used, as one line. Empty: nothing is wrong. While
  /// something is wrong, the earlier credentials stay in use. The line appears once two reads in a
  /// row have found the same error. The first read without this error empties the line. Dates are
  /// not checked here: an expired certificate is no error. Waits only for a short lock.
  std::string problem() const;

 private:
  class Impl;
  explicit GroupCredentials(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ServerCertificateFiles {
  /// REQUIRED: a PEM file with the server's own certificate first, and then the intermediate
  /// certificates up to its authority.
  std::string cert_file;
  std::string key_file;  ///< REQUIRED: the key of the server's own certificate, without a password
  /// A PEM file with the certificates of authorities. Each client must show a valid certificate,
  /// with any name, that one of these authorities has signed. Empty: the server asks for no
  /// certificate, and every client gets in.
  std::string client_ca_file = {};
};

class BATON_EXPORT ServerCertificates {
 public:
  /// Like GroupCredentials::FromFiles, with the same errors. Also kInvalidArgument if OpenSSL
  /// refuses the certificate or its key, for example because the key is too short.
  static Result<std::unique_ptr<ServerCertificates>> FromFiles(ServerCertificateFiles files);
  /// As ~GroupCredentials. Servers keep the certificates that were used last.
  ~ServerCertificates();
  ServerCertificates(const ServerCertificates&) = delete;
  ServerCertificates& operator=(const ServerCertificates&) = delete;

  /// Makes the builder's server listen at `address` with TLS. Call it instead of the builder's own
  /// AddListeningPort. The address is unix:/path or host:port. With port 0 the system picks a free
  /// port. BuildAndStart looks the host up, which may take time. A host may have several addresses.
  /// If the server can listen at one of them, BuildAndStart sets `*port` to the port, or to 1 for a
  /// unix socket. If the server can listen at none of them, BuildAndStart returns null and does not
  /// change `*port`. `port` may be null. Each of the host's addresses keeps some kB in memory until
  /// the process ends. REQUIRES: called before BuildAndStart; `*port` lives until BuildAndStart has
  /// returned.
  ///
  /// AddListeningPort also turns SO_REUSEPORT off for the whole server. Don't turn it on again:
  /// gRPC 1.51 would accept connections on several threads, which is unsafe here.
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
