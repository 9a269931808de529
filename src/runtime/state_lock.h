// StateLock: remembers a node's session on disk, and proves that the node's earlier process is
// dead.
//
// The lock is a file in the state directory. The process holds an exclusive flock on this file for
// its whole life. The file has the session, the boot id, and its own device and inode, with a
// checksum. The file is created once and then overwritten in place; it is never renamed or deleted.
// The process closes it, which releases the lock, only after every shard has stopped and every
// callback has returned.
//
// If a new process of the same node id gets the lock on the same boot, and everything in the file
// matches, the earlier process is dead, in a container or not. If anything does not match, nothing
// is proven, and the new process waits until the old lease has run out. (Process ids can't prove a
// death across namespaces, nor can a renamed or copied file.) A file system whose locks are no
// proof (see FileSystem) proves nothing, unless the operator says that it does.
//
// A child made by fork() shares the lock: it is free only when the last of them has closed the file
// or called exec. So a child that lives on holds up a restart, and makes no wrong proof.
//
// Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "baton/result.h"
#include "baton/types.h"
#include "runtime/state_record.h"

namespace baton::runtime {

/// Which file systems' locks prove a death.
enum class LockTrust {
  kKnownFileSystems,  ///< see FileSystem
  kAnyFileSystem,     ///< the operator says that the directory's file system keeps locks
};

struct StateLockFound {
  /// The session of the earlier process, if it is proven dead.
  std::optional<SessionId> proven_dead;
  /// The highest revision that a commit of the earlier process had; 0: unknown.
  Revision highest_committed;
  /// Why nothing is proven, as one line for the log; empty if the death is proven.
  std::string no_proof;
  /// Why locks in the directory never prove anything, as one line for the log; empty if they may.
  std::string never_proof;
};

class StateLock final : public StateRecord {
 public:
  /// Creates `directory` if it is missing, takes the lock, and reads the earlier process's file.
  /// kFailedPrecondition: a living process holds the lock. kInvalidArgument: the directory or the
  /// file can't be used, or others may write to it (state_folder.h).
  static Result<std::unique_ptr<StateLock>> Take(const std::string& directory,
                                                 const std::string& group, const NodeId& node,
                                                 LockTrust trust = LockTrust::kKnownFileSystems);
  /// Reads the file of a `group` node's last process in `directory`, for any node id. Changes
  /// nothing. kFailedPrecondition: a living process holds the lock. kNotFound: there is no file.
  /// kInvalidArgument: the file can't be read, is damaged, belongs to another group, or has no
  /// revision.
  struct Note {
    std::string node;
    Revision highest;
  };
  static Result<Note> NoteIn(const std::string& directory, const std::string& group);
  ~StateLock() override;
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

  /// The path of the file in a state directory.
  static std::string FileIn(const std::string& directory);

  const StateLockFound& found() const { return found_; }
  /// kUnavailable: the file can't be written.
  Status RecordSession(SessionId session) override;
  Status RecordHighest(Revision revision) override;

 private:
  StateLock(int file, std::string path, std::string identity);
  void ReadFound(LockTrust trust);
  Status Write();

  int file_;
  std::string path_;
  std::string identity_;  ///< group/node
  SessionId session_;
  Revision highest_;
  StateLockFound found_;
};

}  // namespace baton::runtime
