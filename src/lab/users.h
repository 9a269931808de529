// Users of a private etcd, for tests and the demo. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "baton/result.h"
#include "lab/private_etcd.h"

namespace baton::lab {

struct EtcdUser {
  std::string name;
  std::string password;
  /// The user may read and write the keys that begin with one of these.
  std::vector<std::string> prefixes;
};

/// Creates root, with this password, and `user`, and turns authentication on. Later runs of etcdctl
/// need a user. Errors: those of PrivateEtcd::Etcdctl; a part may be done then. REQUIRES: `etcd`
/// has no users yet.
Status EnableUsers(const PrivateEtcd& etcd, const std::string& root_password, const EtcdUser& user);

}  // namespace baton::lab
