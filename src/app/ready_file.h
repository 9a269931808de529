// ReadyFile: tells scripts that the node is ready, and where it listens. It exists exactly while
// the node has been ready and has not begun to leave.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::app {

struct ReadyContent {
  std::string node;
  std::string grpc;  ///< host:port, as listened on
  std::string http;
  int pid = 0;
};

class ReadyFile {
 public:
  /// Removes what an earlier process left at `path`, which may be empty: then nothing is ever
  /// written.
  explicit ReadyFile(std::string path);
  /// Removes the file if it was written.
  ~ReadyFile();
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

  /// Whole or not at all, by a rename. kUnavailable: it can't be written, and why.
  Status Write(const ReadyContent& content);
  void Remove();

 private:
  const std::string path_;
  bool written_ = false;
};

}  // namespace baton::app
