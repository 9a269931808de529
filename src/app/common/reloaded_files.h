// ReloadedFiles: files that belong together, and that are read again while the program runs. batond
// has one object for --etcd-password-file, --etcd-ca, --etcd-cert and --etcd-key, and one for
// --tls-cert, --tls-key and --tls-client-ca. The log says when new content is used or can't be
// used.
//
// One thread at a time. Look waits for the file system.
#pragma once

#include <string>
#include <vector>

#include "base/changing_files.h"

namespace baton::app {

class ReloadedFiles {
 public:
  using File = ChangingFiles::File;

  /// Reads nothing yet. `what`: a plural noun for the log, such as "the certificates". `files`: the
  /// files, with the contents that are in use now.
  ReloadedFiles(std::string what, std::vector<File> files);

  /// Reads the files, and gives changed content to `use` (see ChangingFiles::Look). Logs a problem
  /// once two calls in a row have found it. Does not log the same problem again until a call finds
  /// another problem or none.
  void Look(const ChangingFiles::Use& use);

 private:
  const std::string what_;
  ChangingFiles files_;
  std::string said_;  ///< the problem that was logged last; empty: no problem, or it is over
};

}  // namespace baton::app
