// CredentialFiles: watches the files of batond's --etcd-password-file, --etcd-ca, --etcd-cert and
// --etcd-key. To renew a certificate or a password it is enough to write the file.
//
// One thread at a time. A look reads at most four files of at most 1 MiB each, and blocks as long
// as the file system does.
#pragma once

#include <functional>
#include <string>

#include "baton/options.h"
#include "baton/result.h"

namespace baton::app {

/// Paths; empty: that file is not given.
struct CredentialPaths {
  std::string password;
  std::string ca;
  std::string cert;
  std::string key;
};

class CredentialFiles {
 public:
  using Use = std::function<Status(const EtcdCredentials& credentials)>;

  /// `used` holds the credentials that were read at the start.
  CredentialFiles(CredentialPaths paths, EtcdCredentials used);

  /// Reads the files and hands new content to `use`, which refuses credentials that don't belong
  /// together. If a file can't be read, or `use` refuses, the earlier credentials stay; pipes are
  /// never read again. Trouble is logged once, and only if the second look still finds it: people
  /// write a certificate and its key one after the other.
  void Look(const Use& use);

 private:
  Result<EtcdCredentials> Read() const;

  const CredentialPaths paths_;
  EtcdCredentials used_;
  std::string trouble_;  ///< found by the last look; empty: none
  bool said_ = false;    ///< it was logged
};

}  // namespace baton::app
