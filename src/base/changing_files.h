// ChangingFiles: small files that belong together and may change while a program runs, such as a
// certificate and its key. An operator only has to write the new files.
//
// One thread at a time. Look blocks as long as the file system does. A file of more than 1 MiB
// can't be read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "baton/result.h"

namespace baton {

class ChangingFiles {
 public:
  struct File {
    std::string path = {};     ///< empty: the file is not given
    std::string content = {};  ///< the content that is in use; line ends at its end don't count
  };
  /// Takes all contents, in the order of the files, without line ends at their ends. Returns an
  /// error if it can't use them, for example because they don't belong together.
  using Use = std::function<Status(const std::vector<std::string>& contents)>;

  explicit ChangingFiles(std::vector<File> files);

  /// Reads the files. If a content differs from the one in use, passes all contents to `use`. A
  /// file keeps its content if it is not given, or is a pipe or a character device. Returns whether
  /// `use` has taken new contents. If a file can't be read or is empty, `use` is not called. In
  /// this case, and if `use` returns an error, the earlier contents stay in use, and the next Look
  /// tries again.
  bool Look(const Use& use);
  /// Returns why the files' contents are not used, as the error's message. Set if two calls of Look
  /// in a row found the same error. (People write a certificate and its key one after the other.)
  /// Otherwise empty, also after a call that found another error.
  const std::string& trouble() const { return trouble_; }

 private:
  Result<std::vector<std::string>> Read() const;

  std::vector<std::string> paths_;
  std::vector<std::string> used_;
  std::string found_;    ///< the error of the last Look; empty: none
  std::string trouble_;  ///< found_, if the Look before found the same
};

}  // namespace baton
