// Secrets: whether others can read a process's secrets, and whether its certificates are valid. The
// process logs in to etcd with some certificates, and shows another one on its own ports.
//
// Any thread. CheckSecrets reads the file system; the other functions are pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/pem.h"
#include "baton/options.h"
#include "runtime/control.h"
#include "runtime/doctor/finding.h"

namespace baton::runtime {

/// A certificate that ends within this time is worth a warning.
inline constexpr std::chrono::days kCertificateNotice{14};

struct SecretsCheckup {
  bool any = false;                          ///< the process has a password or a key
  std::vector<std::string> open_files = {};  ///< secret files with more rights than 0640
  /// Of SensitiveFiles::trusted: files that their group or other users may write. Such users could
  /// decide who is trusted.
  std::vector<std::string> writable_files = {};
  bool password_in_clear = false;  ///< etcd's password crosses the network without TLS
  /// When the client certificate and its chain are valid; unset: there is no certificate, or it
  /// can't be read.
  std::optional<Validity> certificate = {};
  std::optional<Validity> own = {};            ///< the same of the ports' certificate
  std::chrono::system_clock::time_point at{};  ///< when it was looked at
};

/// Looks at the rights of the files, and at the certificates in `etcd` and `own_pem`. Leaves out
/// files that are not there or are no regular files. `own_pem`: the certificate of the process's
/// own ports; empty: they have no TLS.
SecretsCheckup CheckSecrets(const EtcdOptions& etcd, const SensitiveFiles& files,
                            std::chrono::system_clock::time_point now,
                            const std::string& own_pem = {});

/// Returns one line for each trouble, with what is wrong and what to do; empty: all is well.
std::vector<std::string> SecretsTroubles(const SecretsCheckup& found);
/// The doctor's finding `secrets`.
Finding JudgeSecrets(const SecretsCheckup& found);

/// Returns the options with these credentials. All else stays, also the user's name.
EtcdOptions Renewed(EtcdOptions etcd, const EtcdCredentials& credentials);

}  // namespace baton::runtime
