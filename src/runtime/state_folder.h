// The state directory: for its owner alone, because who can write there can make two leaders.
//
// Not thread-safe beside changes of the same folder.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton::runtime {

/// Makes the folder if it is missing, for this user alone (0700). kInvalidArgument, with one line
/// that says what to do: it can't be made, belongs to another user than this one and root, or
/// everybody may write to it. Members of its group may: volumes of Kubernetes have such folders.
Status MakeStateFolder(const std::string& directory);

/// The same for an open file in it, which must be a regular one. Takes its group's rights away.
/// `path` is only named.
Status CheckStateFile(int file, const std::string& path);

}  // namespace baton::runtime
