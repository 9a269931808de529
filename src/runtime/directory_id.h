// DirectoryId: the random number of a state directory. Each directory has a different number, and
// an empty directory has no number. So the number shows whether a node still has the same
// directory. Under FailoverPolicy::kNever, a shard goes back only to the node that led it, and only
// if this node has the same directory.
//
// The number is in a file of its own. The file is on disk before the number is used, so a crash of
// the host does not lose the number.
//
// KeepDirectoryId blocks as long as the disk does. REQUIRES: one thread at a time calls it for a
// directory. The other functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "baton/result.h"

namespace baton::runtime {

/// The path of the number's file in a state directory.
std::string DirectoryFileIn(const std::string& directory);
/// The file's content. `identity`: "group/node", as in StateFile. REQUIRES (not checked): `id` is
/// not 0.
std::string FormatDirectoryId(std::uint64_t id, const std::string& identity);
/// Returns the number, which is never 0. nullopt: the content is damaged, or is of another node.
std::optional<std::uint64_t> ParseDirectoryId(const std::string& text, const std::string& identity);

/// Whether this process holds the exclusive lock of StateLock. Only the holder writes the file.
enum class DirectoryLock { kHeld, kNotHeld };

struct DirectoryId {
  std::uint64_t id = 0;      ///< 0: no number could be read or kept
  bool made = false;         ///< `id` is new, and there was no file before
  std::string problem = {};  ///< one line for the log, also if `id` is set; empty: all is well
};

/// Reads the number. If the file is missing, damaged or of another node, makes a new number and
/// writes a new file, but only with the lock. `problem` is set in these cases:
///  - The file was damaged or of another node, and `id` is a new number.
///  - `id` is 0: the file can't be read or written, or a new number is needed without the lock.
/// If a file of this user gives rights to a group or to others, tries to set its mode to 0600, even
/// without the lock. kInvalidArgument: the file can't be opened, is a symbolic link, or
/// CheckStateFile (state_folder.h) refuses it.
Result<DirectoryId> KeepDirectoryId(const std::string& directory, const std::string& identity,
                                    DirectoryLock lock);
/// Returns one line for the log. Use it if `made` is set, but an earlier process of the node has
/// used this directory.
std::string DirectoryIdWasLost(const std::string& directory);

}  // namespace baton::runtime
