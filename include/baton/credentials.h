// GroupCredentials: TLS for the callers of a group. Certificates are read again when their files
// change, and only the servers that you name are believed. Opt-in: needs gRPC;
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
// A server is believed if its certificate is signed by an authority of `ca_file`, is valid now, and
// has a name that `servers` names. The address by which it is called is not compared, so a
// certificate needs no address, and a node of another group can't serve your requests, although the
// same authority signs for it. TLS 1.2 and later.
//
// To renew certificates, write their files: within 1 s the objects that use these credentials have
// the new ones. Each object runs one thread, which reads the files twice a second, and logs
// nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/security/credentials.h>

#include "baton/export.h"
#include "baton/result.h"

namespace baton {

struct GroupCredentialsOptions {
  /// REQUIRED: a PEM file with the certificates of the authorities that sign for the servers. To
  /// change an authority, first add the new one here, then renew the servers' certificates, then
  /// remove the earlier one. The two must have different names.
  std::string ca_file;
  /// REQUIRED: the names of the group's nodes and relays, 1 to 16 of them. A certificate has one
  /// name: its spiffe:// URI; else "dns:" and its first DNS name; else "cn:" and its common name.
  /// It has none if it has several URIs of which one is spiffe://. A "*" as the last character
  /// stands for any characters. So keep the names of servers and of others apart: with
  /// "spiffe://example.org/orders/*" each operator of the group could serve your requests.
  std::vector<std::string> servers;
  /// A PEM file with this caller's certificate, and those between it and its authority, if servers
  /// ask for one. Empty: the caller shows none.
  std::string cert_file = {};
  std::string key_file = {};  ///< its key, without a password: both or none
};

/// Thread-safe.
class BATON_EXPORT GroupCredentials {
 public:
  /// Reads the files. kInvalidArgument: an option is invalid; a file can't be read, is empty or has
  /// more than 1 MiB; or certificate and key don't belong together. The message names what.
  static Result<std::shared_ptr<const GroupCredentials>> FromFiles(GroupCredentialsOptions options);
  /// Ends the thread. What Get returned stays usable. May wait for the file system.
  ~GroupCredentials();
  GroupCredentials(const GroupCredentials&) = delete;
  GroupCredentials& operator=(const GroupCredentials&) = delete;

  /// The newest credentials, for channels of your own: each channel keeps those with which it was
  /// made. Another object after each change, and only then. Waits only for a short lock.
  std::shared_ptr<grpc::ChannelCredentials> Get() const;
  /// One line that says why the files' present content is not used, if it is still so when they are
  /// read once more. The earlier credentials stay in use. Empty: nothing is wrong. Waits only for a
  /// short lock.
  std::string problem() const;

 private:
  class Impl;
  explicit GroupCredentials(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton
