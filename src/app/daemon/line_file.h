// LineFile: a file to which lines are appended, each one whole or not at all. If the process is
// killed within a line, the next Open ends that line. Nothing is synced to the disk, so a host that
// fails may lose the last lines.
//
// Another program, for example logrotate, bounds the file's size. That program may rename the file:
// before each write, this object looks whether the path still leads to the open file, and otherwise
// opens the path again, which creates a new file. The program may also empty the file in place. A
// symbolic link at the path is refused. So is a file that belongs to a user other than this one and
// root, that everybody may write, or that has a second hard link; of the group the right to write
// it is taken, which is possible only if the file belongs to this user. (Of a device only the owner
// counts.) A second LineFile for the same file is refused, also in another process; but not while
// some program holds a lock for reading on the file. One thread at a time; blocks as long as the
// file system does.
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
  /// mode of a new file, as open(2) takes it.
  LineFile(std::string flag, std::string path, mode_t mode)
      : flag_(std::move(flag)), path_(std::move(path)), mode_(mode) {}
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Opens the file, or creates it. Does nothing if the path still leads to the open file.
  /// kUnavailable: the file can't be opened, or another process writes it; the message says why.
  Status Open();
  /// Calls Open, and appends `lines`. kUnavailable: Open failed, or the write did; none of the
  /// lines is in the file, and they may be appended again. (A part of them may be in the file if it
  /// is a pipe or a device, or if another process changed it meanwhile.) REQUIRES: `lines` end in a
  /// newline.
  Status Append(const std::string& lines);

 private:
  Status Prepare();
  Status Lock();
  bool AtItsPath() const;
  Status Write(const std::string& text);
  void TakeBack(std::size_t bytes);
  Error Failed() const;  ///< with errno's words
  Error Failed(const std::string& why) const;

  const std::string flag_;
  const std::string path_;
  const mode_t mode_;
  int file_ = -1;
  bool locked_ = false;  ///< false with an open file: others have locked it for reading
};

}  // namespace baton::app
