// Makes and checks a state directory. A user who can write to it can make two leaders. So Baton
// makes the directory for its owner alone, and refuses a directory to which everybody may write.
// The directory's group may write to it, because that is usual for volumes of Kubernetes.
//
// The functions block as long as the disk does. Any thread, but not while another thread or process
// changes the same directory.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::runtime {

/// If the directory is missing, makes it for this user alone (0700). Directories above it that are
/// missing are made with the usual rights (umask). Does not change a directory that exists.
/// kInvalidArgument, with one line that says what to do: the directory can't be made or looked at,
/// is a file, belongs to a user other than this one and root, or everybody may write to it.
Status MakeStateFolder(const std::string& directory);

/// Checks an open file in the directory. kInvalidArgument, with one line that says what to do: the
/// file can't be examined, is not a regular file, belongs to a user other than this one and root,
/// or everybody may write to it. It is no error if the file's group may write to it. If there is no
/// error, and the file is this user's, tries to take all rights away from the file's group and from
/// others, because a user who can read the file can hold its lock. `path` is only for messages.
Status CheckStateFile(int file, const std::string& path);

}  // namespace baton::runtime
