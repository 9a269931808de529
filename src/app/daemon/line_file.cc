#include "app/daemon/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace baton::app {
namespace {

bool EndsInLine(int file) {
  struct stat found {};
  char last = '\n';
  const bool any = fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0;
  return !any || pread(file, &last, 1, found.st_size - 1) != 1 || last == '\n';
}

/// Why others than this user and root control the open file; empty: they do not.
std::string WhyNotOurs(int file) {
  struct stat found {};
  if (fstat(file, &found) != 0) return std::generic_category().message(errno);
  if (found.st_uid != geteuid() && found.st_uid != 0) {
    return fmt::format("it belongs to user {}; remove it, or name another file", found.st_uid);
  }
  // Only root makes devices, and everybody may write some of them.
  if (S_ISCHR(found.st_mode) || S_ISBLK(found.st_mode)) return "";
  if (found.st_nlink > 1) {
    return fmt::format("it has {} names (hard links); remove it, or name another file",
                       found.st_nlink);
  }
  // Kubernetes gives the group of a volume its rights to each file, whenever it mounts the volume.
  mode_t mode = found.st_mode & 07777;
  if ((mode & S_IWGRP) != 0 && fchmod(file, mode & ~S_IWGRP) == 0) mode &= ~S_IWGRP;
  if ((mode & (S_IWGRP | S_IWOTH)) == 0) return "";
  return fmt::format("other users may write it (mode {:o}); remove it, or {}chmod it to 600", mode,
                     found.st_uid == geteuid() ? "" : "chown it to batond's user and ");
}

}  // namespace

LineFile::~LineFile() {
  if (file_ >= 0) close(file_);
}

Status LineFile::Open() {
  if (file_ >= 0 && AtItsPath()) return locked_ ? Ok() : Lock();
  if (file_ >= 0) close(std::exchange(file_, -1));
  locked_ = false;
  file_ = open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode_);
  if (file_ < 0) return Failed();
  if (const std::string why = WhyNotOurs(file_); !why.empty()) {
    close(std::exchange(file_, -1));
    return Failed(why);
  }
  const Status prepared = Prepare();
  if (!prepared) close(std::exchange(file_, -1));
  return prepared;
}

bool LineFile::AtItsPath() const {
  struct stat opened {};
  struct stat there {};
  return fstat(file_, &opened) == 0 && lstat(path_.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

Status LineFile::Prepare() {
  const Status locked = Lock();
  if (!locked) return locked;
  return EndsInLine(file_) ? Ok() : Write("\n");  // a process was killed within a line
}

// A lock for writing needs the right to write the file. Who may only read it can lock it for
// reading at most: that keeps nobody from writing.
Status LineFile::Lock() {
  struct flock whole {
    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0
  };
  locked_ = fcntl(file_, F_OFD_SETLK, &whole) == 0;
  if (locked_) return Ok();
  if (errno != EAGAIN && errno != EACCES) return Failed();
  if (fcntl(file_, F_OFD_GETLK, &whole) != 0) return Failed();
  if (whole.l_type != F_WRLCK) return Ok();  // Open tries again
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("can't write {} {}: another process writes it; give each its own", flag_, path_)};
}

Status LineFile::Append(const std::string& lines) {
  const Status opened = Open();
  return opened ? Write(lines) : opened;
}

Status LineFile::Write(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file_, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const Error failed = Failed();
      if (written > 0) TakeBack(written);
      return failed;
    }
    written += static_cast<std::size_t>(count);
  }
  return Ok();
}

// Removes the bytes that were added, so that no half line stays. If somebody else has made the file
// shorter than that, it stays as it is.
void LineFile::TakeBack(std::size_t bytes) {
  struct stat found {};
  const auto added = static_cast<off_t>(bytes);
  if (fstat(file_, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size < added) return;
  [[maybe_unused]] const int taken = ftruncate(file_, found.st_size - added);
}

Error LineFile::Failed() const {
  return Failed(errno == ELOOP ? "it is a symbolic link, which is not followed"
                               : std::generic_category().message(errno));
}

Error LineFile::Failed(const std::string& why) const {
  return {ErrorCode::kUnavailable, fmt::format("can't write {} {}: {}", flag_, path_, why)};
}

}  // namespace baton::app
