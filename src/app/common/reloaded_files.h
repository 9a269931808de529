// ReloadedFiles: files that belong together and are read again while the program runs. batond has
// two such objects: one for --etcd-password-file, --etcd-ca, --etcd-cert and --etcd-key, and one
// for --tls-cert, --tls-key and --tls-client-ca. The log says when new content is used, and when
// new content can't be used.
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
  /// logged when two looks in a row have found it, and not again before it changes or is over.
  void Look(const ChangingFiles::Use& use);

 private:
  const std::string what_;
  ChangingFiles files_;
  std::string said_;  ///< the problem that was logged last; empty: it is over
};

}  // namespace baton::app
