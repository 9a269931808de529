// The state directory. It is for its owner alone, because a user who can write there can make two
// leaders.
//
// Any thread, but not while another thread or process changes the same folder.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::runtime {

/// If the folder is missing, makes it for this user alone (0700), and missing folders above it.
/// kInvalidArgument, with one line that says what to do: the folder can't be made, belongs to a
/// user other than this one and root, or everybody may write to it. Members of its group may write
/// to it, because volumes of Kubernetes have such folders.
Status MakeStateFolder(const std::string& directory);

/// The same checks for an open file in the folder, which must be a regular file. If the group may
/// write to the file, takes the group's and the others' rights away. `path` is only for messages.
Status CheckStateFile(int file, const std::string& path);

}  // namespace baton::runtime
