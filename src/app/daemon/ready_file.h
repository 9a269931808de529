// ReadyFile: a file with one line of JSON. It shows scripts that the node has been ready, and at
// which addresses the node listens. batond writes the file when the node is ready for the first
// time, and removes it when the node begins to leave. The file stays if the node is later not ready
// for a while, and if the process is killed. One thread at a time.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::app {

struct ReadyContent {
  std::string node;
  std::string grpc;  ///< host:port at which gRPC listens
  std::string http;  ///< host:port at which HTTP listens
  int pid = 0;
};

class ReadyFile {
 public:
  /// Removes a file at `path`, which an earlier process may have left. `path` empty: Write does
  /// nothing and returns OK.
  explicit ReadyFile(std::string path);
  /// Calls Remove.
  ~ReadyFile();
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

  /// Writes the file beside its path, and renames it to the path, so that nobody reads a part of
  /// it. Another call replaces the file. kUnavailable: the file can't be written; the message says
  /// why. Then the file of an earlier call stays. REQUIRES (not checked): the texts need no escapes
  /// in JSON.
  Status Write(const ReadyContent& content);
  /// Removes the file if this object has written it. Ignores failures.
  void Remove();

 private:
  const std::string path_;
  bool written_ = false;
};

}  // namespace baton::app
