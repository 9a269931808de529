// StateLock: remembers a node's session on disk, and proves that the node's earlier process is
// dead.
//
// The lock is a file in the state directory. The process holds an exclusive flock on this file for
// its whole life. The file contains the session, the boot id, and the file's own device and inode,
// with a checksum. The file is created once and then overwritten in place; it is never renamed or
// deleted. The process closes the file, which releases the lock, only after every shard has stopped
// and every callback has returned.
//
// Suppose that a new process of the same node id gets the lock on the same boot, and everything in
// the file matches. Then the earlier process is dead, also if both run in containers. If anything
// does not match, nothing is proven, and the new process waits until the old lease has run out. For
// example, nothing is proven if the file was renamed or copied. Nothing is proven on a file system
// whose locks are no proof (see FileSystem) either, unless the operator trusts it (LockTrust).
// Process ids would prove no death either.
//
// A child made by fork() shares the lock, which is free only when all holders have closed the file
// or called exec. So a child that lives on delays a restart, but never makes a wrong proof.
//
// Guards (runtime/guard) hold the shared lock, for the time of a read. A node that finds guards
// there waits for them, up to kWaitForGuards. If a guard still holds its lock after that, the node
// starts all the same. It writes its session into the file as soon as it has the exclusive lock.
// Until then a restart has no proof.
//
// Not thread-safe. A write blocks while the disk stands still: see StateWriter.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "baton/result.h"
#include "baton/types.h"
#include "runtime/state_file.h"
#include "runtime/state_record.h"

namespace baton::runtime {

struct StateLockOptions {
  LockTrust trust = LockTrust::kKnownFileSystems;
  bool guarded = false;  ///< guards may end the node's sessions once its process is dead
  /// The program closes no descriptors that it did not open. So the lock lasts on overlayfs, too.
  bool keeps_descriptors = false;
};

struct StateLockFound {
  /// The last sessions of earlier processes, if these processes are proven dead.
  std::vector<SessionId> proven_dead;
  /// The highest revision that a commit of the earlier process had; 0: unknown.
  Revision highest_committed;
  /// Why nothing is proven, as one line for the log. Empty: the death is proven, or the earlier
  /// process left in order.
  std::string no_proof;
  /// Why guards don't act although they were wanted, as one line for the log. Empty: they act, or
  /// were not wanted, or `never_proof` is set.
  std::string no_guard;
  /// Why locks in the directory never prove anything, as one line for the log. Empty: they may.
  std::string never_proof;
  /// The random number of the directory (directory_id.h); 0: no number could be kept.
  std::uint64_t directory = 0;
  /// What is wrong with that number, as one line for the log. Empty: nothing is wrong.
  std::string directory_problem;
};

class StateLock final : public StateRecord {
 public:
  /// How long Take waits for guards.
  static constexpr std::chrono::seconds kWaitForGuards{2};

  /// Creates `directory` if it is missing, takes the lock, reads the earlier process's file, and
  /// gives the directory its number. Blocks while guards read the file, and while the disk takes a
  /// new number. kFailedPrecondition: a living process holds the lock. kInvalidArgument: the
  /// directory or a file can't be used, or others may write to it (state_folder.h).
  static Result<std::unique_ptr<StateLock>> Take(const std::string& directory,
                                                 const std::string& group, const NodeId& node,
                                                 StateLockOptions options = {});
  /// Reads the file of a `group` node's last process in `directory`, for any node id. Changes
  /// nothing. kFailedPrecondition: a living process holds the lock. kNotFound: there is no file.
  /// kInvalidArgument: the file can't be opened or locked, is damaged, belongs to another group, or
  /// has no revision.
  struct Note {
    std::string node;
    Revision highest;
  };
  static Result<Note> NoteIn(const std::string& directory, const std::string& group);
  ~StateLock() override;
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

  const StateLockFound& found() const { return found_; }
  /// Writes the session into the file (StateRecord). kUnavailable: the file can't be written, or
  /// another process still holds the lock.
  Status RecordSession(const RecordedSession& session) override;
  Status RecordHighest(Revision revision) override;

 private:
  StateLock(int file, std::string path, LockTrust trust);
  void Hold();
  void ConsiderGuards();
  /// Takes the exclusive lock if it is free, and reads what the earlier process left.
  bool Lock();
  Status Write();

  const int file_;
  const std::string path_;
  const LockTrust trust_;
  bool guards_wanted_ = false;
  bool keeps_descriptors_ = false;
  bool locked_ = false;
  bool had_session_ = false;  ///< an earlier process of this node
  void* mapped_ = nullptr;    ///< keeps the lock if the program closes file_; null: it can't be
  std::string opened_;        ///< the file's device and inode
  StateFile content_;         ///< as this process writes it
  StateLockFound found_;
};

}  // namespace baton::runtime
