// AccessFile: the file of batond's --access. The file gives roles to users of this host, to
// certificates, to tokens, and to everybody else. An example:
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
// The file must have at least one of `rules`, `this_host` and `other_hosts`. DefaultsOf
// (app/daemon/daemon_options.h) has the defaults of `this_host` and `other_hosts`.
//
// One thread at a time. All functions wait for the file system. ParseAccessRules, and a Look that
// changes the rules, also ask the host's user database, and may wait seconds for it.
#pragma once

#include <string>

#include "access/access.h"
#include "baton/result.h"

namespace baton::app {

/// Reads rules from YAML text. The rules keep their order, because the first rule that fits the
/// caller's user, group or certificate decides.
///  - A certificate's name has the form of NameInCertificate (base/pem.h). Its last byte may be *,
///    which stands for any ending.
///  - A token's name fits kNameRule. A token can't have the role `lead`. No two tokens have the
///    same name or the same digest. `until` is UTC in whole seconds; without `until`, the token is
///    valid for ever.
///  - A user or group is a number, or a name that this host knows. Numbers are not looked up. If
///    this host does not know the name, the rule is left out, and the log says so.
/// kInvalidArgument: the text has another form, it has more than 1,000 rules, or this host's user
/// database can't say whether a user or group exists. The message names the first error: `path`,
/// the line, and what is wrong or expected. For an empty text, the message has no line.
Result<access::Rules> ParseAccessRules(const std::string& path, const std::string& text);

/// Reads the file's text. kInvalidArgument: the file can't be read, is larger than 1 MiB, is not a
/// regular file, belongs neither to root nor to this process's user, or can be written by every
/// user. The file's group may write to it.
Result<std::string> ReadAccessFile(const std::string& path);

class AccessFile {
 public:
  /// `path` empty: Look does nothing. `used`: the text that was read at the start. REQUIRES (not
  /// checked): the rules of `used` are already in force.
  AccessFile(std::string path, std::string used);

  /// Reads the file. If two calls in a row find the same changed text, parses the text and gives
  /// its rules to `access`. (At the first call, somebody may still be writing the file.) If the
  /// text can't be parsed, or if two calls in a row fail to read the file for the same reason, the
  /// earlier rules stay in force. The log says so once. Look does not parse the same text again,
  /// even if only the host's user database was out of reach. If the file then gets its earlier text
  /// back, that text counts as changed, too.
  void Look(access::Access& access);

 private:
  const std::string path_;
  std::string used_;  ///< the last text or error that Look acted on
  std::string seen_;  ///< the text or error that the last Look found
};

}  // namespace baton::app
