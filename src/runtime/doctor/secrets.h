// Whether the secrets with which a process logs in to etcd can be read by others, and whether its
// certificate is valid.
//
// Any thread; reads the file system.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "baton/options.h"
#include "etcd/grpc/pem.h"
#include "runtime/doctor/finding.h"

namespace baton::runtime {

/// A certificate that ends sooner is worth a warning.
inline constexpr std::chrono::days kCertificateNotice{14};

struct SecretsCheckup {
  bool any = false;                          ///< the process has a password or a key
  std::vector<std::string> open_files = {};  ///< that more than their owner and group can read
  bool password_in_clear = false;            ///< a password crosses the network without TLS
  std::optional<etcd::Validity> certificate = {};  ///< of the client certificate; unset: none
  std::chrono::system_clock::time_point at{};      ///< when it was looked at
};

/// `files`: of the password and the key; empty names are left out, and files that are not there.
SecretsCheckup CheckSecrets(const EtcdOptions& etcd, const std::vector<std::string>& files,
                            std::chrono::system_clock::time_point now);

/// What is wrong, as one line each, with what to do; empty: nothing.
std::vector<std::string> SecretsTroubles(const SecretsCheckup& found);
/// The same as the doctor's finding `secrets`.
Finding JudgeSecrets(const SecretsCheckup& found);

/// The options with other credentials.
EtcdOptions Renewed(EtcdOptions etcd, const EtcdCredentials& credentials);

}  // namespace baton::runtime
