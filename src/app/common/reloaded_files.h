// ReloadedFiles: files that batond reads again while it runs: those of --etcd-password-file,
// --etcd-ca, --etcd-cert and --etcd-key, and those of --tls-cert, --tls-key and --tls-client-ca.
// The log says when new content is used, and when it can't be.
//
// One thread at a time. A look blocks as long as the file system does.
#pragma once

#include <string>
#include <vector>

#include "base/changing_files.h"

namespace baton::app {

class ReloadedFiles {
 public:
  using File = ChangingFiles::File;

  /// `what`: a plural noun for the log, such as "the certificates".
  ReloadedFiles(std::string what, std::vector<File> files);

  /// Reads the files and gives changed content to `use`: see ChangingFiles::Look. A problem is
  /// logged once, until it changes or is over.
  void Look(const ChangingFiles::Use& use);

 private:
  const std::string what_;
  ChangingFiles files_;
  std::string said_;  ///< the trouble that was logged last; empty: it is over
};

}  // namespace baton::app
