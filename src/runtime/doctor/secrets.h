// Secrets: examines whether other users can read a process's secrets, and whether its certificates
// are valid. A process may have two certificates: a client certificate for etcd, and the
// certificate of its own ports.
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

/// A certificate that ends within this time is a trouble.
inline constexpr std::chrono::days kCertificateNotice{14};

struct SecretsCheckup {
  bool any = false;  ///< the process has a password or a key
  /// Files of SensitiveFiles::secret whose group may write or execute them, or to which other users
  /// have any rights.
  std::vector<std::string> open_files = {};
  /// Files of SensitiveFiles::trusted that their group or other users may write.
  std::vector<std::string> writable_files = {};
  /// The options have a password for etcd, but no TLS, and some endpoint is not on this host.
  bool password_in_clear = false;
  /// When the client certificate for etcd and its chain are valid. Unset: there is no certificate,
  /// or it can't be read.
  std::optional<Validity> certificate = {};
  std::optional<Validity> own = {};            ///< as above, for the certificate of the ports
  std::chrono::system_clock::time_point at{};  ///< `now` of CheckSecrets
};

/// Looks at the rights of the files, and at the certificates in `etcd` and `own_pem`. Follows
/// symbolic links. Leaves out files that are missing, can't be examined, or are not regular files.
/// `own_pem`: the certificate of the process's own ports; empty: the ports have no TLS.
SecretsCheckup CheckSecrets(const EtcdOptions& etcd, const SensitiveFiles& files,
                            std::chrono::system_clock::time_point now,
                            const std::string& own_pem = {});

/// Returns one line for each trouble, which says what is wrong and what to do. Empty: all is well.
/// A certificate is a trouble if it has ended, is not valid yet, or ends within kCertificateNotice.
std::vector<std::string> SecretsTroubles(const SecretsCheckup& found);
/// Returns the doctor's finding `secrets`: kWarning if there are troubles, otherwise kOk.
Finding JudgeSecrets(const SecretsCheckup& found);

/// Returns the options with these credentials. An empty field removes the value. All other options
/// stay, also the user's name.
EtcdOptions Renewed(EtcdOptions etcd, const EtcdCredentials& credentials);

}  // namespace baton::runtime
