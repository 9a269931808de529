// The kinds of etcd that these tests run on. A test binary is told by `--world=plain|tls|auth`
// (plain without it), and all that it starts is of that world:
//
//   plain  neither TLS nor users
//   tls    TLS; members want a client's certificate
//   auth   users: nodes are one whose role is what the README says, and nothing else
//
// Operators (the tests' own client, etcdctl) have a certificate too, and are root.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "baton/result.h"
#include "etcd/grpc_transport.h"
#include "etcd/private_etcd.h"

namespace baton::e2e {

enum class World { kPlain, kTls, kAuth };

World TheWorld();
/// Sets it, once, before any test. kInvalidArgument: the arguments, without gtest's, name no world.
Status ReadWorld(const std::vector<std::string>& arguments);

/// An etcd of the world. Errors as PrivateEtcd::Start.
Result<std::unique_ptr<etcd::PrivateEtcd>> StartEtcd(etcd::PrivateEtcdOptions options = {});

/// batond's flags for an etcd of the world, but --etcd.
std::vector<std::string> EtcdFlags();
/// The same for an operator's etcdctl.
std::vector<std::string> EtcdctlFlags();
/// An operator's client.
etcd::GrpcTransportOptions OperatorOptions(const std::vector<std::string>& endpoints);

/// Turns users on in an etcd of the plain world: root ("top") and `node` with `password`, whose
/// role is to read and write below `prefix`.
struct UserOptions {
  std::string node = "baton";
  std::string password = "first";
  std::string prefix = "/baton/v1/";
};
void EnableUsers(const etcd::PrivateEtcd& etcd, const UserOptions& options);
/// Root's etcdctl of such an etcd, with a blank behind it.
std::string RootEtcdctl(const etcd::PrivateEtcd& etcd);

}  // namespace baton::e2e
