// LineFile: a file to which lines are appended, each one whole or not at all. If the process is
// killed within a line, the next Open ends that line. Nothing is synced to the disk, so a host that
// fails may lose the last lines.
//
// Somebody else bounds the file's size, for example logrotate. Before each write the object looks
// whether the path still leads to the open file, and otherwise opens the path again. A file that is
// emptied in place is fine, too. A symbolic link at the path is refused. Only one process writes a
// file; but while another program holds a lock for reading on it, a second one is not noticed. One
// thread at a time; blocks as long as the file system does.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>

#include "baton/result.h"

namespace baton::app {

class LineFile {
 public:
  /// Opens nothing yet. `flag` names the file in messages, such as "--events-file". `mode`: the
  /// mode of a new file.
  LineFile(std::string flag, std::string path, mode_t mode)
      : flag_(std::move(flag)), path_(std::move(path)), mode_(mode) {}
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Opens the file. Does nothing if the path still leads to the open file. kUnavailable: the file
  /// can't be opened, or another process writes it; the message says why, and no file is open.
  Status Open();
  /// Calls Open, and appends `lines`. kUnavailable: none of the lines are in the file. (A part of
  /// them may be if the file is a pipe or a device, or if somebody else changed it meanwhile.)
  /// REQUIRES: `lines` end in a newline.
  Status Append(const std::string& lines);

 private:
  Status Prepare();
  Status Lock();
  bool AtItsPath() const;
  Status Write(const std::string& text);
  void TakeBack(std::size_t bytes);
  Error Failed() const;

  const std::string flag_;
  const std::string path_;
  const mode_t mode_;
  int file_ = -1;
  bool locked_ = false;  ///< false with an open file: others have locked it for reading
};

}  // namespace baton::app
