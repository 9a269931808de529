// AccessFile: the file of batond's --access, which gives roles to users of this host, to
// certificates, to tokens, and to everybody else.
//
//   rules:
//     - {user: alice, role: operate}
//     - {user: 1234, role: lead}
//     - {group: baton-admin, role: operate}
//     - {certificate: "spiffe://example.org/operators/*", role: operate}
//     - {token: ci, sha256: 9f86d0...(64 digits), role: operate, until: 2027-01-01T00:00:00Z}
//   this_host: probe    # users without a rule
//   other_hosts: read   # callers from other hosts
//
// One thread at a time. A look reads at most 1 MiB, and blocks as long as the file system does. If
// the text has changed, it also asks the host's user database for names.
#pragma once

#include <string>

#include "access/access.h"
#include "baton/result.h"

namespace baton::app {

/// Reads rules from YAML text. The first rule for a user or its group decides, and the first for a
/// certificate's name (NameInCertificate), whose last byte may be *. At most 1,000 rules. No two
/// tokens have the same name or digest; `until` may be missing. A rule for a user or group that
/// this host does not have counts for nobody; the log says so. kInvalidArgument: the message has
/// `path`, the line, what is wrong and what was expected.
Result<access::Rules> ParseAccessRules(const std::string& path, const std::string& text);

/// Reads the file's text. kInvalidArgument: it can't be read, is larger than 1 MiB or no regular
/// file, belongs to another user than root and this process's, or every user may write to it.
Result<std::string> ReadAccessFile(const std::string& path);

class AccessFile {
 public:
  /// An empty path: there is no file, and looks do nothing. `used` is the text that was read at the
  /// start; the caller has put its rules to use.
  AccessFile(std::string path, std::string used);

  /// Reads the file. If two looks in a row find the same changed text, its rules go to `access`; at
  /// the first look somebody may still be writing. If the file can't be used, the earlier rules
  /// stay, and the log says so once.
  void Look(access::Access& access);

 private:
  const std::string path_;
  std::string used_;  ///< the text whose rules count, or the text or trouble that was logged
  std::string seen_;  ///< the text or trouble that the last look found
};

}  // namespace baton::app
