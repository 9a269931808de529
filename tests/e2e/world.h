// The worlds: the kinds of etcd that these tests run on. `--world=plain|tls|auth` selects one for
// the whole test binary (default: plain):
//
//   plain  neither TLS nor users
//   tls    TLS; members require a client certificate, and so do the ports of batond
//   auth   users: the nodes' user has the role of docs/operating.md, and no other
//
// Operators (the tests' own client and etcdctl) have a certificate too, and are root.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/pem.h"
#include "baton/result.h"
#include "etcd/grpc/transport.h"
#include "lab/private_etcd.h"

namespace baton::e2e {

enum class World { kPlain, kTls, kAuth };

World TheWorld();
/// Sets the world. Call it once, before any test. kInvalidArgument: the arguments that gtest left
/// name no world.
Status ReadWorld(const std::vector<std::string>& arguments);

/// Starts an etcd of the world. Errors: those of PrivateEtcd::Start.
Result<std::unique_ptr<lab::PrivateEtcd>> StartEtcd(lab::PrivateEtcdOptions options = {});

/// batond's flags for an etcd of the world, without --etcd.
std::vector<std::string> EtcdFlags();
/// batond's flags for its own ports: TLS in the world tls, which requires a client certificate.
std::vector<std::string> PortFlags();
/// An operator's flags of batonctl for such a node.
std::vector<std::string> CtlFlags();
/// An operator's certificate, for clients of such a node. Empty in the other worlds.
PemTexts OperatorPems();
/// An operator's flags of etcdctl.
std::vector<std::string> EtcdctlFlags();
/// The options of an operator's client.
etcd::GrpcTransportOptions OperatorOptions(const std::vector<std::string>& endpoints);

/// Turns users on in an etcd of the plain world: root (password "top") and `node` with `password`,
/// whose role may read and write below `prefix`.
struct UserOptions {
  std::string node = "baton";
  std::string password = "first";
  std::string prefix = "/baton/v1/";
};
void EnableUsers(const lab::PrivateEtcd& etcd, const UserOptions& options);
/// Root's etcdctl command for such an etcd, with a trailing blank.
std::string RootEtcdctl(const lab::PrivateEtcd& etcd);

}  // namespace baton::e2e
