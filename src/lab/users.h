// Users of a private etcd, for tests and the demo.
#pragma once

#include <string>
#include <vector>

#include "baton/result.h"
#include "lab/private_etcd.h"

namespace baton::lab {

struct EtcdUser {
  std::string name;
  std::string password;
  /// Its role may read and write the keys below these.
  std::vector<std::string> prefixes;
};

/// Turns users on: root, with this password, and `user`. Errors: those of PrivateEtcd::Etcdctl.
/// REQUIRES: it has no users yet.
Status EnableUsers(const PrivateEtcd& etcd, const std::string& root_password, const EtcdUser& user);

}  // namespace baton::lab
