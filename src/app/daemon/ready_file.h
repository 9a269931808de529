// ReadyFile: a file with one line of JSON. From it, scripts learn that the node has been ready, and
// at which addresses it listens. batond writes the file when the node is ready for the first time,
// and removes it when the node begins to leave. The file stays if the node is not ready for a while
// later. It also stays if the process is killed. One thread at a time.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::app {

struct ReadyContent {
  std::string node;
  std::string grpc;  ///< host:port on which gRPC listens
  std::string http;  ///< the same for HTTP
  int pid = 0;
};

class ReadyFile {
 public:
  /// Removes a file at `path`, which an earlier process may have left. If `path` is empty, Write
  /// does nothing.
  explicit ReadyFile(std::string path);
  /// Calls Remove.
  ~ReadyFile();
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

  /// Writes the file next to its path, and renames it to the path, so that nobody reads a part of
  /// it. Another call replaces the file. kUnavailable: the file can't be written, and a file of an
  /// earlier call stays; the message says why. REQUIRES (not checked): the texts need no escapes in
  /// JSON.
  Status Write(const ReadyContent& content);
  /// Removes the file if a Write of this object has succeeded. Ignores failures.
  void Remove();

 private:
  const std::string path_;
  bool written_ = false;
};

}  // namespace baton::app
