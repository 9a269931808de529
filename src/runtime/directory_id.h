// DirectoryId: the random number that a state directory keeps. It tells the directory from an empty
// one, and from that of another node: under FailoverPolicy::kNever a shard goes back only to the
// node that led it with the same directory, because only there the shard's data is.
//
// The number is in a file of its own, which is written once. It is on disk before it is used, so
// that no crash of the host takes it back.
//
// Pure, except KeepDirectoryId, which blocks as long as the disk does. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "baton/result.h"

namespace baton::runtime {

/// The path of the file in a state directory.
std::string DirectoryFileIn(const std::string& directory);
/// The file's content. `identity`: group/node, as in StateFile.
std::string FormatDirectoryId(std::uint64_t id, const std::string& identity);
/// nullopt: the content is damaged, or another node's.
std::optional<std::uint64_t> ParseDirectoryId(const std::string& text, const std::string& identity);

/// Whether this process holds the exclusive lock of StateLock: nobody else writes the file.
enum class DirectoryLock { kHeld, kNotHeld };

struct DirectoryId {
  std::uint64_t id = 0;      ///< 0: none could be kept
  bool made = false;         ///< there was no file
  std::string problem = {};  ///< one line for the log; empty if the directory is new, or as it was
};

/// Reads the number. If there is none, or it can't be used, it makes a new one, unless the lock is
/// not held. kInvalidArgument: the file is a link or none of this user's, or others may write to it
/// (state_folder.h).
Result<DirectoryId> KeepDirectoryId(const std::string& directory, const std::string& identity,
                                    DirectoryLock lock);
/// One line for the log, if a number was made although an earlier process of the node was there.
std::string DirectoryIdWasLost(const std::string& directory);

}  // namespace baton::runtime
