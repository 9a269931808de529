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
// `rules`, `this_host` and `other_hosts` are optional, but the file has at least one of them.
// DefaultsOf (app/daemon/daemon_options.h) has the defaults of `this_host` and `other_hosts`.
//
// One thread at a time. Functions block as long as the file system does. Parsing also asks the
// host's user database for names, and a Look that changes rules asks it for groups, so both may
// take seconds.
#pragma once

#include <string>

#include "access/access.h"
#include "baton/result.h"

namespace baton::app {

/// Reads rules from YAML text. The rules keep their order, because the first one that fits a user
/// (or a group of the user) or a certificate decides.
///  - A certificate's name has the form of NameInCertificate; its last byte may be *.
///  - A token's name fits kNameRule. A token can't have the role `lead`. No two tokens have the
///    same name or the same digest. `until` is UTC in whole seconds; without it, the token is valid
///    for ever.
///  - A user or group is a name of this host, or a number, which is not looked up. A rule for a
///    name that this host does not have is left out; the log says so.
/// kInvalidArgument: the text has another form, or more than 1,000 rules, or this host's user
/// database can't say whether a user or group exists. The message is about the first error. It has
/// `path`, the line, and what is wrong or expected.
Result<access::Rules> ParseAccessRules(const std::string& path, const std::string& text);

/// Reads the file's text. kInvalidArgument: the file can't be read, is larger than 1 MiB, is not a
/// regular file, belongs neither to root nor to this process's user, or every user may write to it
/// (its group may).
Result<std::string> ReadAccessFile(const std::string& path);

class AccessFile {
 public:
  /// If `path` is empty, Look does nothing. `used`: the text that was read at the start, of which
  /// the rules are already in force.
  AccessFile(std::string path, std::string used);

  /// Reads the file. Gives its rules to `access` if two calls in a row have found the same changed
  /// text; somebody may still be writing when the first one finds it. If two calls in a row find
  /// that the file can't be used, for the same reason, the earlier rules stay in force, and the log
  /// says so once. If the file later has the earlier text again, that counts as a change, too.
  void Look(access::Access& access);

 private:
  const std::string path_;
  std::string used_;  ///< the last text or error that Look acted on
  std::string seen_;  ///< the text or error that the last Look found
};

}  // namespace baton::app
