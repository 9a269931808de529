// Whether the secrets with which a process logs in to etcd can be read by others.
//
// Any thread; reads the file system.
#pragma once

#include <string>
#include <vector>

#include "baton/options.h"
#include "runtime/doctor/finding.h"

namespace baton::runtime {

struct SecretsCheckup {
  bool any = false;                          ///< the process has a password or a key
  std::vector<std::string> open_files = {};  ///< that more than their owner and group can read
  bool password_in_clear = false;            ///< a password crosses the network without TLS
};

/// `files`: of the password and the key; empty names are left out, and files that are not there.
SecretsCheckup CheckSecrets(const EtcdOptions& etcd, const std::vector<std::string>& files);

/// What is wrong, as one line each, with what to do; empty: nothing.
std::vector<std::string> SecretsTroubles(const SecretsCheckup& found);
/// The same as the doctor's finding `secrets`.
Finding JudgeSecrets(const SecretsCheckup& found);

}  // namespace baton::runtime
