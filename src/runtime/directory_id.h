// DirectoryId: the random number that a state directory keeps. Each directory has a number of its
// own, and an empty directory has none. So the number shows whether a node still has the same
// directory. Under FailoverPolicy::kNever a shard goes back only to the node that led it with the
// same directory, because only there the shard's data is.
//
// The number is in a file of its own. A file that is good is never written again. The file is on
// disk before the number is used, so that no crash of the host loses the number.
//
// The functions are pure, except KeepDirectoryId, which blocks as long as the disk does. REQUIRES:
// one thread at a time calls KeepDirectoryId for a directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "baton/result.h"

namespace baton::runtime {

/// The path of the file in a state directory.
std::string DirectoryFileIn(const std::string& directory);
/// The file's content. `identity`: group/node, as in StateFile. REQUIRES (not checked): `id` is not
/// 0.
std::string FormatDirectoryId(std::uint64_t id, const std::string& identity);
/// Returns the number, which is never 0. Nullopt: the content is damaged, or another node's.
std::optional<std::uint64_t> ParseDirectoryId(const std::string& text, const std::string& identity);

/// Whether this process holds the exclusive lock of StateLock. Only the holder may write the file.
/// But KeepDirectoryId may change the file's mode even without the lock.
enum class DirectoryLock { kHeld, kNotHeld };

struct DirectoryId {
  std::uint64_t id = 0;      ///< 0: no number could be read or kept
  bool made = false;         ///< there was no file, so `id` is new; false if a file was replaced
  std::string problem = {};  ///< one line for the log, also if `id` is set; empty: all is well
};

/// Reads the number. If the file is missing, damaged or another node's, and the lock is held, makes
/// a new number, and writes a new file in its place. These cases set `problem`:
///  - The file was damaged or another node's, and `id` is a new number.
///  - `id` is 0: the file can't be read or written, or a new number is needed without the lock.
/// If this user owns the file, and the file's group or others have rights to it, also tries to set
/// its mode to 0600, even without the lock (CheckStateFile). kInvalidArgument: the file can't be
/// opened, is a link, is not a regular file, belongs to a user other than this one and root, or
/// everybody may write to it (state_folder.h).
Result<DirectoryId> KeepDirectoryId(const std::string& directory, const std::string& identity,
                                    DirectoryLock lock);
/// Returns one line for the log. Use it instead of `problem` if `made` is set although an earlier
/// process of the node has used this directory.
std::string DirectoryIdWasLost(const std::string& directory);

}  // namespace baton::runtime
