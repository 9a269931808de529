// A certificate authority for one test. It runs openssl in a temporary folder, which it deletes at
// its end. One thread at a time. Failures end the running test.
#pragma once

#include <string>

#include "lab/private_etcd.h"

namespace baton::e2e {

/// Runs a shell script with a bound. A failure shows its output.
void RunScript(const std::string& script);

class Authority {
 public:
  /// Makes the authority and a certificate for etcd's members on loopback.
  Authority();
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  /// Makes a client's certificate and key: NAME.pem, NAME.key. Batond warns of fewer than 14 days.
  void Issue(const std::string& name, int days = 30) const;
  /// Revokes a certificate: members refuse it in new handshakes from now on.
  void Revoke(const std::string& name) const;

  std::string ca() const { return folder_ + "/ca.pem"; }
  std::string cert(const std::string& name) const { return folder_ + "/" + name + ".pem"; }
  std::string key(const std::string& name) const { return folder_ + "/" + name + ".key"; }
  std::string revoked() const { return folder_ + "/revoked.crl"; }
  /// TLS options of etcd members that require a client certificate of this authority, not a revoked
  /// one.
  void Protect(lab::PrivateEtcdOptions* etcd) const;

 private:
  std::string folder_;
};

}  // namespace baton::e2e
