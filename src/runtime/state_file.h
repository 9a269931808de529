// StateFile: the content of the lock file in a node's state directory, and what it proves.
//
// A node's StateLock writes the file while it holds the exclusive lock on the file. If a later
// process gets a lock on the file, and CheckProof returns an empty string, the process that wrote
// the file is dead.
//
// Any thread. Pure, except the functions that take a file, and BootId: they ask the system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baton/types.h"

namespace baton::runtime {

/// Which file systems' locks prove a death.
enum class LockTrust {
  kKnownFileSystems,  ///< those of FileSystem::locks_are_proof
  kAnyFileSystem,     ///< the operator says that the directory's file system keeps locks
};

struct StateFile {
  std::string identity = {};  ///< group/node
  std::string boot = {};      ///< BootId when the file was written
  std::string place = {};     ///< PlaceOf when the file was written
  SessionId session = {};     ///< of the process that wrote the file; 0: no session
  Revision highest = {};      ///< the highest revision that a commit of the node had; 0: unknown
  /// The session before `session`, of this process or of an earlier one. It may still hold the
  /// member key. It is never a session on whose leaderships another process acts. 0: no such
  /// session.
  SessionId previous = {};
  /// Another process acts on what `session` leads, so the death of the process that wrote the file
  /// proves nothing of `session`.
  bool external = false;
  /// False: an early version wrote the file, and the file lacks `external`. Then `external` is
  /// false here.
  bool says_external = true;
  /// Guards may end the sessions. False: only the node's next process acts on the proof.
  bool guarded = false;

  /// The sessions that may be ended once the process that wrote the file is dead: first `session`
  /// (but not if `external` is set), second `previous`. Leaves out those that are 0.
  std::vector<SessionId> Sessions() const;
};

/// The size of a state file, in bytes.
inline constexpr std::size_t kStateFileSize = 1024;

/// A CRC-32, in hexadecimal digits. It finds damage, but no change that somebody made on purpose.
std::string Checksum(const std::string& text);
/// The path of the file in a state directory.
std::string StateFileIn(const std::string& directory);
/// The file's bytes, always kStateFileSize.
std::string Format(const StateFile& content);
/// Nullopt: the text is damaged or empty.
std::optional<StateFile> ParseStateFile(const std::string& text);
/// Reads an open file from its start, at most kStateFileSize bytes. Empty: the file is empty, or
/// can't be read.
std::string ReadStateFile(int file);

/// Identifies this boot of this host; empty: unknown.
std::string BootId();
/// The open file's device and inode. Nullopt: the path leads to another file or to no file, or the
/// system does not say.
std::optional<std::string> PlaceOf(int file, const std::string& path);
/// Why locks on the open file never prove a death, as one line for the log; empty: they may.
std::string NeverProof(int file, const std::string& path, LockTrust trust);
/// Why no session of `content` may be ended, as one line. Empty: the process that wrote the content
/// is dead, and its Sessions() may be ended. REQUIRES: this process holds a lock on the file, and
/// `content` is the file's content.
std::string CheckProof(int file, const std::string& path, const StateFile& content,
                       LockTrust trust);

}  // namespace baton::runtime
