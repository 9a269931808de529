// Users of a private etcd, for tests and the demo. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "baton/result.h"
#include "lab/private_etcd.h"

namespace baton::lab {

struct EtcdUser {
  std::string name;
  std::string password;
  /// The user may read and write the keys that begin with one of these texts.
  std::vector<std::string> prefixes;
};

/// Creates the user root with this password, and the user `user` with the role "baton". Then turns
/// authentication on. Later runs of etcdctl need a user (PrivateEtcdOptions::etcdctl_arguments).
/// Errors: those of PrivateEtcd::Etcdctl. After an error, a part may be done. REQUIRES (not
/// checked): `etcd` has no users yet.
Status EnableUsers(const PrivateEtcd& etcd, const std::string& root_password, const EtcdUser& user);

}  // namespace baton::lab
