// ReloadedFiles: files that belong together and are read again while the program runs. batond has
// two ReloadedFiles: one for --etcd-password-file, --etcd-ca, --etcd-cert and --etcd-key, and one
// for --tls-cert, --tls-key and --tls-client-ca. The log says when new content is used, and when
// new content can't be used.
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

  /// Reads nothing yet. `what`: a plural noun for the log, such as "the certificates". `files`:
  /// with the contents that are in use now.
  ReloadedFiles(std::string what, std::vector<File> files);

  /// Reads the files, and gives changed content to `use` (see ChangingFiles::Look). If two calls in
  /// a row find the same problem, logs this problem. Does not log it again until a call finds
  /// another problem or none.
  void Look(const ChangingFiles::Use& use);

 private:
  const std::string what_;
  ChangingFiles files_;
  std::string said_;  ///< the problem that was logged last; empty: it is over
};

}  // namespace baton::app
