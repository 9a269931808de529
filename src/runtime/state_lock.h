// StateLock: the proof of death of a node's earlier process, and what it last knew.
//
// A file in the state directory, held by an exclusive flock for the process's life. The file is
// created once and written in place under the lock with a checksum; it is never renamed, deleted or
// unlocked, and closed only after every shard has stopped and every callback has returned. It names
// the session, the boot and its own device and inode. A new process of the same node id on the same
// boot that gets the lock and finds all of that matching knows that its predecessor is dead, in a
// container or not. Anything that doesn't match proves nothing, and the lease is waited out.
// (Process ids prove nothing across namespaces; a renamed or copied file proves nothing.)
//
// One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "baton/result.h"
#include "baton/types.h"
#include "runtime/state_record.h"

namespace baton::runtime {

struct StateLockFound {
  /// The session of a predecessor that is proven dead.
  std::optional<SessionId> proven_dead;
  /// The highest revision a commit of the predecessor's had; 0: unknown.
  Revision highest_committed;
  /// One line for the log: why there is no proof, where there is none.
  std::string no_proof;
};

class StateLock final : public StateRecord {
 public:
  /// Creates `directory` if need be, takes the lock and reads what the predecessor left.
  /// kFailedPrecondition: a living process holds it. kInvalidArgument: the directory can't be used.
  static Result<std::unique_ptr<StateLock>> Take(const std::string& directory,
                                                 const std::string& group, const NodeId& node);
  /// What the last process of a node of `group` left in `directory`, whichever node it was.
  /// Changes nothing. kFailedPrecondition: a living process holds it. kNotFound: nothing is there.
  /// kInvalidArgument: it can't be read, is damaged, of another group, or never noted a revision.
  struct Note {
    std::string node;
    Revision highest;
  };
  static Result<Note> NoteIn(const std::string& directory, const std::string& group);
  ~StateLock() override;
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

  const StateLockFound& found() const { return found_; }
  /// kUnavailable: the file can't be written.
  Status RecordSession(SessionId session) override;
  Status RecordHighest(Revision revision) override;

 private:
  StateLock(int file, std::string path, std::string identity);
  void ReadFound();
  Status Write();

  int file_;
  std::string path_;
  std::string identity_;  ///< group, node
  SessionId session_;
  Revision highest_;
  StateLockFound found_;
};

}  // namespace baton::runtime
