// CredentialFiles: what batond's --etcd-password-file, --etcd-ca, --etcd-cert and --etcd-key hold,
// looked at again and again: whoever renews a certificate or a password writes the file, and
// nothing else.
//
// One thread at a time. Looking reads at most four files of at most 1 MiB, and blocks as long as
// the file system does.
#pragma once

#include <functional>
#include <string>

#include "baton/options.h"
#include "baton/result.h"

namespace baton::app {

/// Empty: none is given.
struct CredentialPaths {
  std::string password;
  std::string ca;
  std::string cert;
  std::string key;
};

/// What is a password in a file: all but the ends of lines behind it.
std::string PasswordIn(std::string content);

class CredentialFiles {
 public:
  using Use = std::function<Status(const EtcdCredentials& credentials)>;

  /// `used` is what was read at the start.
  CredentialFiles(CredentialPaths paths, EtcdCredentials used);

  /// Reads the files, and hands what is new to `use`, which refuses what does not fit together.
  /// What can't be read or is refused changes nothing, nor does a pipe. It is logged once, when it
  /// is so at a second look: files are written one after another, and a pair is whole a moment
  /// later.
  void Look(const Use& use);

 private:
  Result<EtcdCredentials> Read() const;

  const CredentialPaths paths_;
  EtcdCredentials used_;
  std::string trouble_;  ///< at the last look; empty: none
  bool said_ = false;    ///< it was logged
};

}  // namespace baton::app
