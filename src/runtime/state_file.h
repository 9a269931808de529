// StateFile: the content of the lock file in a node's state directory, and what the content proves.
//
// A node's StateLock writes the file while it holds the exclusive lock on the file. Suppose that a
// later process gets a lock on the file, and CheckProof returns an empty string. Then the process
// that wrote the file is dead.
//
// Any thread. Pure, except BootId and the functions with the argument `file`: they ask the system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baton/types.h"

namespace baton::runtime {

/// Says on which file systems a free lock proves a death.
enum class LockTrust {
  kKnownFileSystems,  ///< those of FileSystem::locks_are_proof
  kAnyFileSystem,     ///< the operator says that locks on the directory's file system are proof
};

struct StateFile {
  std::string identity = {};  ///< group/node
  std::string boot = {};      ///< BootId when the file was written
  std::string place = {};     ///< PlaceOf when the file was written
  SessionId session = {};     ///< of the process that wrote the file; 0: no session
  Revision highest = {};      ///< the highest revision that a commit of the node had; 0: unknown
  /// The session before `session`, of this process or of an earlier one. It may still hold the
  /// member key. Another process never acts on the leaderships of `previous`. 0: no such session.
  SessionId previous = {};
  /// Another process acts on the leaderships of `session`. So the other process may still act when
  /// the process that wrote the file is dead.
  bool external = false;
  /// False: an early version wrote the file, and the file lacks `external`. Then `external` and
  /// `guarded` are false here.
  bool says_external = true;
  /// Guards may end the sessions. False: only the node's next process uses the proof.
  bool guarded = false;

  /// Returns the sessions that may be ended once the process that wrote the file is dead: first
  /// `session` (but not if `external` is set), then `previous`. Leaves out those that are 0.
  std::vector<SessionId> Sessions() const;
};

/// The size of a state file, in bytes.
inline constexpr std::size_t kStateFileSize = 1024;

/// Returns a CRC-32 in hexadecimal digits. It finds damage, but no change that was made on purpose.
std::string Checksum(const std::string& text);
/// The path of the file in a state directory.
std::string StateFileIn(const std::string& directory);
/// The file's bytes, always kStateFileSize.
std::string Format(const StateFile& content);
/// Nullopt: the text is damaged or empty.
std::optional<StateFile> ParseStateFile(const std::string& text);
/// Reads an open file from its start, at most kStateFileSize bytes. Returns an empty string if the
/// file is empty or can't be read.
std::string ReadStateFile(int file);

/// Identifies this boot of this host; empty: unknown.
std::string BootId();
/// Returns the open file's device and inode. Nullopt: `path` leads to another file or to no file,
/// or the system does not say.
std::optional<std::string> PlaceOf(int file, const std::string& path);
/// Why locks on the open file never prove a death, as one line for the log; empty: they may.
std::string NeverProof(int file, const std::string& path, LockTrust trust);
/// Why no session of `content` may be ended, as one line. Empty: the process that wrote `content`
/// is dead, and its Sessions() may be ended. Not empty if this boot is unknown or is not
/// content.boot, if the file was moved or copied, if NeverProof is not empty, or if there are no
/// Sessions(). REQUIRES: this process holds a lock on the file, and
/// `content` is the file's content.
std::string CheckProof(int file, const std::string& path, const StateFile& content,
                       LockTrust trust);

}  // namespace baton::runtime
