// ReadyFile: tells scripts that the node is ready, and at which addresses it listens. The file
// exists from the first time the node is ready until the node begins to leave.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::app {

struct ReadyContent {
  std::string node;
  std::string grpc;  ///< host:port on which it listens
  std::string http;
  int pid = 0;
};

class ReadyFile {
 public:
  /// Removes the file that an earlier process left at `path`. If `path` is empty, no file is ever
  /// written.
  explicit ReadyFile(std::string path);
  /// Removes the file if it was written.
  ~ReadyFile();
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

  /// Writes the file, whole or not at all, by a rename. kUnavailable: it can't be written; the
  /// message says why.
  Status Write(const ReadyContent& content);
  /// Removes the file if this object wrote it.
  void Remove();

 private:
  const std::string path_;
  bool written_ = false;
};

}  // namespace baton::app
