// ChangingFiles: small files that belong together and may change while a program runs, such as a
// certificate and its key. To renew them it is enough to write them.
//
// One thread at a time. A look reads each file, at most 1 MiB, and blocks as long as the file
// system does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "baton/result.h"

namespace baton {

class ChangingFiles {
 public:
  struct File {
    std::string path = {};     ///< empty: that file is not given
    std::string content = {};  ///< that is in use
  };
  /// The contents in the order of the files, without the line ends after them. If it refuses them,
  /// the next look hands them over again.
  using Use = std::function<Status(const std::vector<std::string>& contents)>;

  explicit ChangingFiles(std::vector<File> files);

  /// Reads the files and hands all contents to `use` if one has changed; a file that is not given
  /// has the content that the constructor got. `use` refuses what doesn't belong together. If a
  /// file can't be read or is empty, or `use` refuses, the earlier contents stay; pipes are never
  /// read again. Returns whether new content is in use now.
  bool Look(const Use& use);
  /// Why new content is not used; empty: no reason is known. Set once two looks in a row have found
  /// the same, because people write a certificate and its key one after the other.
  const std::string& trouble() const { return trouble_; }

 private:
  Result<std::vector<std::string>> Read() const;

  std::vector<std::string> paths_;
  std::vector<std::string> used_;
  std::string found_;    ///< by the last look; empty: nothing
  std::string trouble_;  ///< found_, if the look before found it too
};

}  // namespace baton
