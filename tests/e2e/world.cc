#include "e2e/world.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "e2e/authority.h"
#include "e2e/cluster.h"
#include "lab/users.h"

namespace baton::e2e {
namespace {

constexpr const char* kRootPassword = "top";

World the_world = World::kPlain;

/// The authority of the world "tls"; made at first use, deleted with the process.
const Authority& TheAuthority() {
  static const Authority authority;
  static const bool issued = [] {
    authority.Issue("node");
    authority.Issue("operator");
    return true;
  }();
  (void)issued;
  return authority;
}

/// The nodes' password file in the world "auth"; deleted with the process.
const std::string& PasswordFile() {
  struct Made {
    Made() {
      const int file = mkstemp(path.data());
      BATON_CHECK(file >= 0);
      close(file);
      std::ofstream(path) << UserOptions().password << "\n";
    }
    ~Made() { unlink(path.c_str()); }
    std::string path = (std::filesystem::temp_directory_path() / "baton-password-XXXXXX").string();
  };
  static const Made made;
  return made.path;
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

World TheWorld() { return the_world; }

Status ReadWorld(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--world=plain") {
      the_world = World::kPlain;
    } else if (argument == "--world=tls") {
      the_world = World::kTls;
    } else if (argument == "--world=auth") {
      the_world = World::kAuth;
    } else {
      return Error{ErrorCode::kInvalidArgument,
                   "\"" + argument + "\" is unknown; expected --world=plain, tls or auth"};
    }
  }
  return Ok();
}

Result<std::unique_ptr<lab::PrivateEtcd>> StartEtcd(lab::PrivateEtcdOptions options) {
  if (TheWorld() == World::kTls) TheAuthority().Protect(&options);
  options.etcdctl_arguments = EtcdctlFlags();
  auto started = lab::PrivateEtcd::Start(options);
  if (started.ok() && TheWorld() == World::kAuth) EnableUsers(*started.value(), {});
  return started;
}

std::vector<std::string> EtcdFlags() {
  switch (TheWorld()) {
    case World::kPlain: return {};
    case World::kTls:
      return {"--etcd-ca",  TheAuthority().ca(),       "--etcd-cert", TheAuthority().cert("node"),
              "--etcd-key", TheAuthority().key("node")};
    case World::kAuth:
      return {"--etcd-user", UserOptions().node, "--etcd-password-file", PasswordFile()};
  }
  return {};
}

std::vector<std::string> PortFlags() {
  if (TheWorld() != World::kTls) return {};
  return {"--tls-cert",      TheAuthority().cert("member"),
          "--tls-key",       TheAuthority().key("member"),
          "--tls-client-ca", TheAuthority().ca()};
}

std::vector<std::string> CtlFlags() {
  if (TheWorld() != World::kTls) return {};
  return {"--tls-ca",  TheAuthority().ca(),           "--tls-cert", TheAuthority().cert("operator"),
          "--tls-key", TheAuthority().key("operator")};
}

PemTexts OperatorPems() {
  if (TheWorld() != World::kTls) return {};
  return {.ca = ContentOf(TheAuthority().ca()),
          .cert = ContentOf(TheAuthority().cert("operator")),
          .key = ContentOf(TheAuthority().key("operator"))};
}

std::vector<std::string> EtcdctlFlags() {
  switch (TheWorld()) {
    case World::kPlain: return {};
    case World::kTls:
      return {"--cacert=" + TheAuthority().ca(), "--cert=" + TheAuthority().cert("operator"),
              "--key=" + TheAuthority().key("operator")};
    case World::kAuth: return {std::string("--user=root:") + kRootPassword};
  }
  return {};
}

etcd::GrpcTransportOptions OperatorOptions(const std::vector<std::string>& endpoints) {
  etcd::GrpcTransportOptions options{.endpoints = endpoints};
  if (TheWorld() == World::kTls) {
    options.ca_pem = ContentOf(TheAuthority().ca());
    options.cert_pem = ContentOf(TheAuthority().cert("operator"));
    options.key_pem = ContentOf(TheAuthority().key("operator"));
  }
  if (TheWorld() == World::kAuth) {
    options.user = "root";
    options.password = kRootPassword;
  }
  return options;
}

void EnableUsers(const lab::PrivateEtcd& etcd, const UserOptions& options) {
  const Status enabled = lab::EnableUsers(
      etcd, kRootPassword,
      {.name = options.node, .password = options.password, .prefixes = {options.prefix}});
  if (!enabled) throw Unmet(enabled.error().message);
}

std::string RootEtcdctl(const lab::PrivateEtcd& etcd) {
  return "ETCDCTL_API=3 etcdctl --endpoints=" + etcd.endpoints().front() +
         " --user=root:" + kRootPassword + " ";
}

}  // namespace baton::e2e
