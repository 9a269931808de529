#include "runtime/state_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/escape.h"
#include "base/owned_descriptor.h"
#include "base/text_rules.h"
#include "runtime/directory_id.h"
#include "runtime/file_system.h"
#include "runtime/state_folder.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kLongestIdentity = 2 * kLongestName + 1;  // group/node
// Guards hold the lock for the time of a read.
constexpr int kLookForGuardsMs = 1;

std::string Errno() { return std::generic_category().message(errno); }

/// The device and inode of an open file; empty: it is not open.
std::string Identity(int file) {
  struct stat opened {};
  if (fstat(file, &opened) != 0) return "";
  return fmt::format("{}:{}", opened.st_dev, opened.st_ino);
}

/// The holder of a lock on the file that this process can't get.
enum class Holder { kNode, kGuards };
Holder HolderOf(int file) {
  if (flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) return Holder::kNode;
  flock(file, LOCK_UN);
  return Holder::kGuards;
}

/// Whether a recovery may believe the file. An operator reads the files of the nodes' users, so the
/// owner does not matter.
Status CheckNote(int file, const std::string& path) {
  struct stat found {};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is not a regular file", path)};
  }
  if ((found.st_mode & S_IWOTH) == 0) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("'{}' can be written by everybody (mode {:o}), so it proves nothing: "
                           "leave it out, and give --above instead",
                           path, found.st_mode & 07777)};
}

}  // namespace

Result<StateLock::Note> StateLock::NoteIn(const std::string& directory, const std::string& group) {
  const std::string path = StateFileIn(directory);
  const OwnedDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.get() < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
    return Error{
        code, fmt::format("'{}' can't be opened: {}; name the --state-dir of a node of the group",
                          path, errno == ELOOP ? "it is a symbolic link" : Errno())};
  }
  if (Status usable = CheckNote(file.get(), path); !usable) return usable.error();
  if (flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error{ErrorCode::kFailedPrecondition,
                   "'" + path + "' is locked by a living process: stop that node"};
    }
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' can't be locked: {}; copy it to a local file system", path, Errno())};
  }
  const auto content = ParseStateFile(ReadStateFile(file.get()));
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
  if (content->highest > kHighestRevision) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' names revision {}, which no etcd has: leave it out, and give "
                             "--above instead",
                             path, content->highest.value)};
  }
  Note note{.node = {}, .highest = content->highest};
  note.node = OneLine(content->identity.substr(group.size() + 1), kLongestName);
  return note;
}

Result<std::unique_ptr<StateLock>> StateLock::Take(const std::string& directory,
                                                   const std::string& group, const NodeId& node,
                                                   StateLockOptions options) {
  if (Status made = MakeStateFolder(directory); !made) return made.error();
  const std::string path = StateFileIn(directory);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' can't be opened: {}; name another state directory", path,
                             errno == ELOOP ? "it is a symbolic link" : Errno())};
  }
  if (Status checked = CheckStateFile(file, path); !checked) {
    close(file);
    return checked.error();
  }
  std::unique_ptr<StateLock> lock(new StateLock(file, path, options.trust));
  lock->content_.identity = group + "/" + node;
  lock->guards_wanted_ = options.guarded;
  lock->keeps_descriptors_ = options.keeps_descriptors;
  const TimePoint until = Clock::Real().Now() + kWaitForGuards;
  while (!lock->Lock()) {
    if (errno != EWOULDBLOCK) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("'{}' can't be locked: {}", path, Errno())};
    }
    if (HolderOf(file) == Holder::kNode) {
      return Error{
          ErrorCode::kFailedPrecondition,
          fmt::format("node '{}' already runs on this host: '{}' is locked by a living process; "
                      "stop that one, or give this one another name and state directory",
                      node, path)};
    }
    if (Clock::Real().Now() >= until) {
      lock->found_.no_proof = "a guard holds '" + path + "' and does not let it go";
      break;
    }
    poll(nullptr, 0, kLookForGuardsMs);
  }
  const auto held = lock->locked_ ? DirectoryLock::kHeld : DirectoryLock::kNotHeld;
  auto kept = KeepDirectoryId(directory, lock->content_.identity, held);
  if (!kept) return kept.error();
  lock->found_.directory = kept.value().id;
  const bool lost = kept.value().made && lock->had_session_;
  lock->found_.directory_problem =
      lost ? DirectoryIdWasLost(directory) : std::move(kept).value().problem;
  return lock;
}

StateLock::StateLock(int file, std::string path, LockTrust trust)
    : file_(file), path_(std::move(path)), trust_(trust) {
  content_.boot = BootId();
  opened_ = Identity(file_);
  found_.never_proof = NeverProof(file_, path_, trust_);
}

StateLock::~StateLock() {
  if (mapped_ != nullptr) munmap(mapped_, kStateFileSize);
  if (Identity(file_) == opened_) close(file_);
}

// The lock lasts as long as the open file, which a mapping keeps open: so it stays if the program
// closes descriptors that it does not know. (Not on overlayfs, which maps another file.)
void StateLock::Hold() {
  void* const mapped = mmap(nullptr, kStateFileSize, PROT_READ, MAP_SHARED, file_, 0);
  if (mapped == MAP_FAILED) return;
  madvise(mapped, kStateFileSize, MADV_DONTFORK);
  mapped_ = mapped;
}

// A guard must not act on a lock that proves nothing, or that the program may free by mistake.
void StateLock::ConsiderGuards() {
  if (!guards_wanted_ || !found_.never_proof.empty()) return;
  const bool held = keeps_descriptors_ || (mapped_ != nullptr && !MapsAnotherFile(file_));
  content_.guarded = held;
  if (held) return;
  found_.no_guard = fmt::format(
      "'{}' is on overlayfs, or can't be mapped: if this program closed descriptors that it does "
      "not know, the lock would be free; give the node a state directory on another file system",
      path_);
}

bool StateLock::Lock() {
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) return false;
  locked_ = true;
  Hold();
  ConsiderGuards();
  const std::string text = ReadStateFile(file_);
  if (text.empty()) {
    found_.no_proof = "the state directory has no record of an earlier process";
    return true;
  }
  const auto left = ParseStateFile(text);
  if (!left || left->identity != content_.identity) {
    found_.no_proof = "'" + path_ + "' is damaged or another node's";
    return true;
  }
  had_session_ = true;
  content_.highest = std::max(content_.highest, left->highest);
  found_.highest_committed = left->highest;
  if (left->session.value == 0 && left->says_external) return true;  // it left in order
  found_.no_proof = CheckProof(file_, path_, *left, trust_);
  if (!found_.no_proof.empty()) return true;
  found_.proven_dead = left->Sessions();
  if (left->says_external) found_.stopped_sessions = found_.proven_dead;
  // If this process has named a session already, nobody has ended the one before. An early version
  // did not say whether another process acts on it.
  if (content_.previous.value == 0 && left->says_external)
    content_.previous = found_.proven_dead.front();
  return true;
}

Status StateLock::RecordSession(const RecordedSession& session) {
  // A process that never had a session leaves its predecessor's named.
  if (session.session.value == 0 && content_.session.value == 0) return Ok();
  if (session.replaces.value != 0) {
    content_.previous = session.replaces;
  } else if (!content_.Sessions().empty()) {
    content_.previous = content_.Sessions().front();
  }
  content_.session = session.session;
  content_.external = session.external;
  if (session.session.value == 0) content_.previous = {};
  return Write();
}

Status StateLock::RecordHighest(Revision revision) {
  if (revision <= content_.highest && !unwritten_) return Ok();
  content_.highest = std::max(content_.highest, revision);
  return Write();
}

Status StateLock::Write() {
  unwritten_ = true;
  const auto failed = [this](const std::string& why) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format(
            "'{}' can't be written: {}; a restart of this node will have to wait for its lease",
            path_, why)};
  };
  if (Identity(file_) != opened_) return failed("the program has closed its descriptor");
  if (!locked_ && !Lock()) return failed("another process holds it, and does not let it go");
  content_.place = PlaceOf(file_, path_).value_or("moved");
  const std::string text = Format(content_);
  if (pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return failed(Errno());
  }
  unwritten_ = false;
  return Ok();
}

}  // namespace baton::runtime
