#include "lab/users.h"

#include <utility>

namespace baton::lab {

Status EnableUsers(const PrivateEtcd& etcd, const std::string& root_password,
                   const EtcdUser& user) {
  const std::string role = "baton";
  std::vector<std::vector<std::string>> commands = {
      {"user", "add", "root:" + root_password},
      {"role", "add", role},
      {"user", "add", user.name + ":" + user.password},
      {"user", "grant-role", user.name, role}};
  for (const std::string& prefix : user.prefixes) {
    commands.push_back({"role", "grant-permission", role, "--prefix=true", "readwrite", prefix});
  }
  commands.push_back({"auth", "enable"});  // which gives root its role
  for (auto& words : commands) {
    if (const Status done = etcd.Etcdctl(std::move(words)); !done) return done;
  }
  return Ok();
}

}  // namespace baton::lab
