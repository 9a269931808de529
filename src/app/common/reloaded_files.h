// ReloadedFiles: files that batond reads again while it runs: those of --etcd-password-file,
// --etcd-ca, --etcd-cert and --etcd-key, and those of --tls-cert, --tls-key and --tls-client-ca. To
// renew a certificate or a password it is enough to write the file.
//
// One thread at a time. A look reads each file, at most 1 MiB, and blocks as long as the file
// system does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "baton/result.h"

namespace baton::app {

class ReloadedFiles {
 public:
  struct File {
    std::string path = {};     ///< empty: that file is not given
    std::string content = {};  ///< that is in use
  };
  /// The contents in the order of the files, without the line ends after them.
  using Use = std::function<Status(const std::vector<std::string>& contents)>;

  /// `what`: what they are, in the plural, as the log names them.
  ReloadedFiles(std::string what, std::vector<File> files);

  /// Reads the files and hands new content to `use`, which refuses what doesn't belong together. If
  /// a file can't be read or is empty, or `use` refuses, the earlier contents stay; pipes are never
  /// read again. Trouble is logged once, and only if the second look still finds it: people write a
  /// certificate and its key one after the other.
  void Look(const Use& use);

 private:
  Result<std::vector<std::string>> Read() const;

  const std::string what_;
  std::vector<std::string> paths_;
  std::vector<std::string> used_;
  std::string trouble_;  ///< found by the last look; empty: none
  bool said_ = false;    ///< it was logged
};

}  // namespace baton::app
