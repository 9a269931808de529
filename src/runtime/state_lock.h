// StateLock: remembers a node's session on disk, and proves that the node's earlier process is
// dead.
//
// This object has a file in the state directory, and holds an exclusive flock on it. The file
// contains the session, the boot id, and the file's own device and inode, with a checksum. The file
// is created once and then overwritten in place; it is never renamed or deleted. The destructor
// releases the lock. The node destroys this object only after every shard has stopped and every
// callback has returned.
//
// Suppose that a new process of the same node id gets the lock on the same boot, and everything in
// the file matches. Then the earlier process is dead, also if both run in containers. Process ids
// are not compared, because they prove no death. In these cases nothing is proven, and the new
// process waits until the old lease has run out:
//   - Something in the file does not match, for example because the file was copied or renamed.
//   - Locks on the file system are no proof (FileSystem), and the operator does not say that they
//     are (LockTrust).
//
// A child made by fork() shares the lock. The lock is free only when all processes that share it
// have closed the file or called exec. So a child that lives on delays a restart, but never makes a
// wrong proof.
//
// Guards (runtime/guard) take a shared lock, for the time of a read. If guards hold the lock when a
// node starts, the node waits for them, up to kWaitForGuards. After that time the node starts all
// the same, without the lock. Each later record tries again to get the exclusive lock. The first
// record that gets the lock also writes what earlier records could not write. Until then a restart
// has no proof.
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

/// No etcd reaches this revision: at a million commits a second it would take 31,000 years. A
/// recovery accepts no higher revision, neither from a file nor from an operator.
inline constexpr Revision kHighestRevision{1'000'000'000'000'000'000};

struct StateLockOptions {
  LockTrust trust = LockTrust::kKnownFileSystems;
  bool guarded = false;  ///< guards may end the node's sessions once its process is dead
  /// The program promises to close no descriptors that it did not open. Then guards may act even on
  /// overlayfs, where the lock ends if the program closes the lock's descriptor.
  bool keeps_descriptors = false;
};

struct StateLockFound {
  /// The last sessions of earlier processes, at most two, if these processes are proven dead.
  std::vector<SessionId> proven_dead;
  /// The sessions of `proven_dead` on whose leaderships surely no other process acts. Empty if an
  /// early version wrote the file, because such a file does not say this.
  std::vector<SessionId> stopped_sessions;
  /// The highest revision that a commit of an earlier process of this node had, even if no death is
  /// proven; 0: unknown.
  Revision highest_committed;
  /// Why no death is proven, as one line for the log. Empty: the death is proven, or the earlier
  /// process left in order.
  std::string no_proof;
  /// Why guards don't act although StateLockOptions::guarded is set, as one line for the log.
  /// Empty: they act, `guarded` is not set, or `never_proof` says why they don't act.
  std::string no_guard;
  /// Why locks in the directory never prove a death, as one line for the log. Empty: they may.
  std::string never_proof;
  /// The random number of the directory (directory_id.h); 0: no number could be read or kept.
  std::uint64_t directory = 0;
  /// Says what is wrong with `directory`, as one line for the log. Empty: all is well.
  std::string directory_problem;
};

class StateLock final : public StateRecord {
 public:
  /// How long Take waits while guards hold the lock.
  static constexpr std::chrono::seconds kWaitForGuards{2};

  /// Creates `directory` if it is missing, takes the lock, reads what an earlier process left in
  /// the file, and gives the directory its number. Does not write the lock file's content. Blocks
  /// while guards read the file (up to kWaitForGuards), and while the disk takes a new number.
  /// kFailedPrecondition: a living process holds the lock. kInvalidArgument: the directory or a
  /// file in it can't be made, opened or locked, or fails the checks of state_folder.h.
  static Result<std::unique_ptr<StateLock>> Take(const std::string& directory,
                                                 const std::string& group, const NodeId& node,
                                                 StateLockOptions options = {});
  /// The note that the last process of a node left in its state directory.
  struct Note {
    std::string node;
    Revision highest;  ///< the highest revision that a commit of the node had
  };
  /// Reads the file in `directory`, for any node of `group`. Changes nothing; holds a shared lock
  /// during the read. The file may belong to any user. kFailedPrecondition: a living process holds
  /// the lock. kNotFound: there is no file. kInvalidArgument: any other fault. The file can't be
  /// opened or locked, is a symbolic link or not a regular file, everybody may write to it, it is
  /// damaged, it belongs to another group, or its revision is 0 or above kHighestRevision.
  static Result<Note> NoteIn(const std::string& directory, const std::string& group);
  /// Releases the lock. Leaves the file as it is.
  ~StateLock() override;
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

  /// The findings of Take. Read them before the first record: if Take did not get the lock, a
  /// record may change them.
  const StateLockFound& found() const { return found_; }
  /// Writes the session into the file (StateRecord). Session 0 is ignored, without an error, if
  /// this process has recorded no session yet, or has recorded session 0 last. So an earlier
  /// process's session stays in the file. kUnavailable: the file can't be written, another process
  /// still holds the lock, or the program has closed the descriptor.
  Status RecordSession(const RecordedSession& session) override;
  /// Writes the revision, if it is greater than the recorded one. Also writes what an earlier call
  /// of RecordHighest or RecordSession could not write. Errors: as RecordSession.
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
  bool unwritten_ = false;    ///< the last write failed
  bool had_session_ = false;  ///< an earlier process of this node
  void* mapped_ = nullptr;    ///< keeps the lock if the program closes file_; null: it can't be
  std::string opened_;        ///< the file's device and inode
  StateFile content_;         ///< as this process writes it
  StateLockFound found_;
};

}  // namespace baton::runtime
