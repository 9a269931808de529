// Reads small files: certificates, passwords, configuration. Any thread; blocks as long as the file
// system does.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "baton/result.h"

namespace baton {

/// Returns the content of a file, which may be empty. If the file is a pipe, waits for its writer,
/// without a limit. kInvalidArgument: the file can't be read (it may be missing), or has more than
/// 1 MiB; the message names the file and says why.
Result<std::string> ReadSmallFile(const std::string& path);

/// Judges an open file before it is read: OK, or why it is refused.
using SmallFileCheck = std::function<Status(const struct stat& found)>;
/// The same, but first asks `check` about the file that it has opened. Nobody can exchange the file
/// between the check and the read. An error of `check` is returned unchanged. REQUIRES: `check`
/// accepts only regular files. The call does not wait for content, so it could not read a pipe.
Result<std::string> ReadSmallFile(const std::string& path, const SmallFileCheck& check);

/// Returns the content without any line ends (LF and CR) at its end: a password, for example.
std::string WithoutLineEnds(std::string content);

}  // namespace baton
