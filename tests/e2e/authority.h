// An authority for certificates, of a test's own: by openssl, in a temporary folder that ends with
// it. One thread at a time; what fails ends the running test.
#pragma once

#include <string>

#include "etcd/private_etcd.h"

namespace baton::e2e {

/// Runs a shell script, bounded; its output is in the failure.
void RunScript(const std::string& script);

class Authority {
 public:
  /// With a certificate for etcd's members on loopback.
  Authority();
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  /// A client's certificate and key: NAME.pem, NAME.key.
  void Issue(const std::string& name) const;
  /// From now on members refuse this certificate in new handshakes.
  void Revoke(const std::string& name) const;

  std::string ca() const { return folder_ + "/ca.pem"; }
  std::string cert(const std::string& name) const { return folder_ + "/" + name + ".pem"; }
  std::string key(const std::string& name) const { return folder_ + "/" + name + ".key"; }
  std::string revoked() const { return folder_ + "/revoked.pem"; }
  /// TLS for etcd's members, who want a client's certificate of this authority that isn't revoked.
  void Protect(etcd::PrivateEtcdOptions* etcd) const;

 private:
  std::string folder_;
};

}  // namespace baton::e2e
