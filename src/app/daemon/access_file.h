// AccessFile: the file of batond's --access, which gives roles to users and groups of this host.
//
//   rules:                                   # the first that fits decides
//     - {user: mallory, role: read}
//     - {group: baton-admin, role: operate}
//     - {user: orders-app, role: lead}
//
// One thread at a time. A look reads at most 1 MiB, and blocks as long as the file system and the
// host's user database do.
#pragma once

#include <string>
#include <vector>

#include "access/access.h"
#include "baton/result.h"

namespace baton::app {

/// Reads rules from YAML text. kInvalidArgument: the message has `path`, the line, what is wrong
/// and what was expected.
Result<std::vector<access::Rule>> ParseAccessRules(const std::string& path,
                                                   const std::string& text);

/// Reads and parses the file.
Result<std::vector<access::Rule>> ReadAccessFile(const std::string& path);

class AccessFile {
 public:
  /// An empty path: there is no file, and looks do nothing. `used` was read at the start.
  AccessFile(std::string path, std::vector<access::Rule> used);

  /// Reads the file, and gives changed rules to `access`. If it can't be read, the earlier rules
  /// stay. Trouble is logged once, and only if the second look still finds it.
  void Look(access::Access& access);

 private:
  const std::string path_;
  std::vector<access::Rule> used_;
  std::string trouble_;  ///< found by the last look; empty: none
  bool said_ = false;    ///< it was logged
};

}  // namespace baton::app
