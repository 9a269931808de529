#include "runtime/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/escape.h"
#include "base/text_rules.h"
#include "runtime/file_system.h"
#include "runtime/state_folder.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kFileSize = 1024;  // fixed: the whole file is overwritten in place
constexpr std::size_t kLongestIdentity = 2 * kLongestName + 1;  // group/node
constexpr const char* kMagic = "baton-state 1";

std::string Errno() { return std::generic_category().message(errno); }

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string Checksum(const std::string& text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  std::ostringstream out;
  out << std::hex << crc.checksum();
  return out.str();
}

// The open file's device and inode, if the path still leads to the same file; else nothing.
std::optional<std::string> PlaceOf(int file, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  if (fstat(file, &opened) != 0 || stat(path.c_str(), &named) != 0) return std::nullopt;
  if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino) return std::nullopt;
  return fmt::format("{}:{}", opened.st_dev, opened.st_ino);
}

/// Why locks on the file's file system prove nothing; empty if they may.
std::string NeverProof(int file, const std::string& path, LockTrust trust) {
  if (trust == LockTrust::kAnyFileSystem) return "";
  const FileSystem on = FileSystemOf(file);
  if (on.locks_are_proof) return "";
  return fmt::format(
      "'{}' is on {}, whose locks do not prove that a process is dead: a restart of this node "
      "waits for its old lease; use a --state-dir on a local disk (ext4, xfs, btrfs, f2fs, zfs, "
      "tmpfs, overlayfs), or give --trust-state-lock if locks there hold for as long as their "
      "process lives",
      path, on.name);
}

/// The parts of the file; unset: damaged.
struct Content {
  std::string identity, boot, place;
  std::int64_t session = 0;
  Revision highest;
};
std::optional<Content> Parse(const std::string& text) {
  std::istringstream lines(text);
  std::string magic, checksum, session, highest;
  Content content;
  std::getline(lines, magic);
  std::getline(lines, checksum);
  const auto body_at = lines.tellg();
  std::getline(lines, content.identity);
  std::getline(lines, content.boot);
  std::getline(lines, content.place);
  lines >> session >> highest;
  const std::string body =
      body_at < 0 ? "" : std::string(text.c_str() + static_cast<std::size_t>(body_at));
  if (magic != kMagic || Checksum(body) != checksum) return std::nullopt;
  content.session = std::strtoll(session.c_str(), nullptr, 10);
  content.highest = Revision{std::max(0ll, std::strtoll(highest.c_str(), nullptr, 10))};
  return content;
}

/// Empty: the file is empty, or can't be read.
std::string ReadAll(int file) {
  std::string text(kFileSize, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

/// An open file. Its destructor closes it, and so releases its lock.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }

 private:
  const int file_;
};

}  // namespace

std::string StateLock::FileIn(const std::string& directory) { return directory + "/session.lock"; }

Result<StateLock::Note> StateLock::NoteIn(const std::string& directory, const std::string& group) {
  const std::string path = FileIn(directory);
  const OpenFile file(path);
  if (file.get() < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
    return Error{
        code, fmt::format("'{}' can't be opened: {}; name the --state-dir of a node of the group",
                          path, Errno())};
  }
  if (flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error{ErrorCode::kFailedPrecondition,
                   "'" + path + "' is locked by a living process: stop that node"};
    }
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' can't be locked: {}; copy it to a local file system", path, Errno())};
  }
  const auto content = Parse(ReadAll(file.get()));
  if (!content) {
    return Error{ErrorCode::kInvalidArgument,
                 "'" + path + "' is damaged: leave it out, and give --above instead"};
  }
  if (!content->identity.starts_with(group + "/")) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' belongs to '{}', which is not a node of group '{}'", path,
                             OneLine(content->identity, kLongestIdentity), group)};
  }
  if (content->highest.value == 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "'" + path + "' has no revision: its node never led; leave it out"};
  }
  Note note{.node = {}, .highest = content->highest};
  note.node = OneLine(content->identity.substr(group.size() + 1), kLongestName);
  return note;
}

Result<std::unique_ptr<StateLock>> StateLock::Take(const std::string& directory,
                                                   const std::string& group, const NodeId& node,
                                                   LockTrust trust) {
  if (Status made = MakeStateFolder(directory); !made) return made.error();
  const std::string path = FileIn(directory);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' can't be opened: {}; name another --state-dir", path,
                             errno == ELOOP ? "it is a symbolic link" : Errno())};
  }
  if (Status checked = CheckStateFile(file, path); !checked) {
    close(file);
    return checked.error();
  }
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    const std::string why = Errno();
    close(file);
    if (held) {
      return Error{
          ErrorCode::kFailedPrecondition,
          fmt::format("node '{}' already runs on this host: '{}' is locked by a living process; "
                      "stop that one, or give this one another --node and --state-dir",
                      node, path)};
    }
    return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' can't be locked: {}", path, why)};
  }
  std::unique_ptr<StateLock> lock(new StateLock(file, path, group + "/" + node));
  lock->ReadFound(trust);
  return lock;
}

StateLock::StateLock(int file, std::string path, std::string identity)
    : file_(file), path_(std::move(path)), identity_(std::move(identity)) {}

StateLock::~StateLock() { close(file_); }

void StateLock::ReadFound(LockTrust trust) {
  found_.never_proof = NeverProof(file_, path_, trust);
  const std::string text = ReadAll(file_);
  if (text.empty()) {
    found_.no_proof = "the state directory has no record of an earlier process";
    return;
  }
  const auto content = Parse(text);
  if (!content || content->identity != identity_) {
    found_.no_proof = "'" + path_ + "' is damaged or another node's";
    return;
  }
  highest_ = content->highest;
  found_.highest_committed = highest_;
  const SessionId last{content->session};
  const auto here = PlaceOf(file_, path_);
  if (content->boot.empty() || content->boot != BootId()) {
    found_.no_proof = "the host has rebooted since";
  } else if (!here || *here != content->place) {
    found_.no_proof = "'" + path_ + "' was moved or copied";
  } else if (!found_.never_proof.empty()) {
    found_.no_proof = found_.never_proof;
  } else if (last.value <= 0) {
    found_.no_proof = "the earlier process had no session";
  } else {
    found_.proven_dead = last;
  }
}

Status StateLock::RecordSession(SessionId session) {
  session_ = session;
  return Write();
}

Status StateLock::RecordHighest(Revision revision) {
  if (revision <= highest_) return Ok();
  highest_ = revision;
  return Write();
}

Status StateLock::Write() {
  const auto place = PlaceOf(file_, path_);
  const std::string body = fmt::format("{}\n{}\n{}\n{}\n{}\n", identity_, BootId(),
                                       place.value_or("moved"), session_.value, highest_.value);
  std::string content = fmt::format("{}\n{}\n{}", kMagic, Checksum(body), body);
  content.resize(kFileSize, '\0');
  if (pwrite(file_, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size())) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format(
            "'{}' can't be written: {}; a restart of this node will have to wait for its lease",
            path_, Errno())};
  }
  return Ok();
}

}  // namespace baton::runtime
