// The state directory. A user who can write there can make two leaders, so Baton makes it for its
// owner alone, and refuses one in which everybody may write. Its group may write there, because
// volumes of Kubernetes have such folders.
//
// Any thread, but not while another thread or process changes the same folder.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::runtime {

/// If the folder is missing, makes it for this user alone (0700). Folders above it that are missing
/// are made with the usual rights (umask). kInvalidArgument, with one line that says what to do:
/// the folder can't be made, belongs to a user other than this one and root, or everybody may write
/// to it.
Status MakeStateFolder(const std::string& directory);

/// Checks the same, with the same error, for an open file in the folder; it must be a regular file.
/// If its group may write to it, this is no error: takes all rights of the group and of others
/// away. `path` is only for messages.
Status CheckStateFile(int file, const std::string& path);

}  // namespace baton::runtime
