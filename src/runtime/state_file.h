// StateFile: the content of the lock file in a node's state directory, and what it proves.
//
// StateLock (a node) writes the file while it holds the exclusive lock on it. A process that gets a
// lock on the file knows that the one that wrote it is dead, if CheckProof finds nothing.
//
// Pure, except BootId, PlaceOf and ReadStateFile, which ask the system: any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baton/types.h"

namespace baton::runtime {

/// Which file systems' locks prove a death.
enum class LockTrust {
  kKnownFileSystems,  ///< see FileSystem
  kAnyFileSystem,     ///< the operator says that the directory's file system keeps locks
};

struct StateFile {
  std::string identity = {};  ///< group/node
  std::string boot = {};      ///< BootId when it was written
  std::string place = {};     ///< PlaceOf when it was written
  SessionId session = {};     ///< of the process that wrote it; 0: none
  Revision highest = {};      ///< the highest revision that a commit of the node had; 0: unknown
  /// The session before, of this process or of an earlier one, which may hold the member key still;
  /// 0: none. Never one on whose leaderships another process acts.
  SessionId previous = {};
  /// Another process acts on what `session` leads, so the death of this one proves nothing.
  bool external = false;
  bool says_external = true;  ///< false: an early version wrote it, which did not say `external`
  /// Guards may end the sessions. Else only the node's next process acts on the proof.
  bool guarded = false;

  /// The sessions that end with the process that wrote it.
  std::vector<SessionId> Sessions() const;
};

/// The most bytes that a state file has; it always has as many.
inline constexpr std::size_t kStateFileSize = 1024;

/// A CRC-32, in hexadecimal digits: finds damage, not malice.
std::string Checksum(const std::string& text);
/// The path of the file in a state directory.
std::string StateFileIn(const std::string& directory);
std::string Format(const StateFile& content);
/// nullopt: damaged.
std::optional<StateFile> ParseStateFile(const std::string& text);
/// Empty: the file is empty, or can't be read.
std::string ReadStateFile(int file);

/// This boot of this host; empty: unknown.
std::string BootId();
/// The open file's device and inode, if the path still leads to the same file.
std::optional<std::string> PlaceOf(int file, const std::string& path);
/// Why locks on the open file never prove anything, as one line for the log; empty if they may.
std::string NeverProof(int file, const std::string& path, LockTrust trust);
/// Why the death of the process that wrote the content is not proven, as one line; empty if it is.
/// REQUIRES: this process holds a lock on the file, whose content this is.
std::string CheckProof(int file, const std::string& path, const StateFile& content,
                       LockTrust trust);

}  // namespace baton::runtime
