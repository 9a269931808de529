// LineFile: a file to which lines are appended. An append adds all of its lines or nothing. If the
// process is killed within a line, the next Open ends that line. Nothing is synced to the disk. So
// a host that fails may lose the last lines.
//
// This class does not bound the file's size. Another program, for example logrotate, must do this.
// That program may rename the file, or empty it in place. Before each write, this object checks
// whether the path still leads to the open file. If not, it opens or creates the path's file again.
//
// These files are refused:
//  - a symbolic link at the path;
//  - a file that belongs neither to this process's user nor to root;
//  - a file, but not a device, that has a second hard link or that everybody may write;
//  - a file, but not a device, that its group may write, if this object can't take this right away.
//    Only the file's owner and root can take it away;
//  - a file that another LineFile has open, also in another process. This is not noticed while some
//    program holds a lock for reading on the file.
//
// One thread at a time. The functions wait for the file system.
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
  /// mode of a new file. The process's umask takes rights away from it.
  LineFile(std::string flag, std::string path, mode_t mode)
      : flag_(std::move(flag)), path_(std::move(path)), mode_(mode) {}
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Opens the file, or creates it. If the last line has no end, ends it. If the path still leads
  /// to the open file, only makes sure of the lock. kUnavailable: the file can't be opened or is
  /// refused, or another LineFile writes it; the message says why.
  Status Open();
  /// Calls Open, and appends `lines`. kUnavailable: Open or the write failed. Then none of the
  /// lines is in the file, and the caller may append them again. There are two exceptions, in which
  /// a part of the lines may be in the file: the file is a pipe or a device, or another process
  /// changed the file meanwhile. REQUIRES (not checked): `lines` end in a newline.
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
