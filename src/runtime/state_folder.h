// Makes and checks a state directory. A user who can write to a state directory can make two
// leaders. So Baton makes the directory for its owner alone, and refuses a directory to which
// everybody may write. The directory's group may have rights to it, because volumes of Kubernetes
// usually need this.
//
// The functions block as long as the disk does. Any thread, but not while another thread or process
// changes the same directory.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::runtime {

/// If the directory is missing, makes it for this user alone (0700). Makes missing directories
/// above it with the usual rights (umask). Does not change a directory that exists.
/// kInvalidArgument, with one line that says what to do: the directory can't be made or examined,
/// is a file, belongs to a user other than this one and root, or everybody may write to it.
Status MakeStateFolder(const std::string& directory);

/// Checks an open file in the directory. kInvalidArgument, with one line that says what to do: the
/// file can't be examined, is not a regular file, belongs to a user other than this one and root,
/// or everybody may write to it. Otherwise, if this user owns the file, and the file's group or
/// others have rights, tries to set its mode to 0600. Reason: a user who can read the file can hold
/// its lock. `path` is only for messages.
Status CheckStateFile(int file, const std::string& path);

}  // namespace baton::runtime
