// Reads small files: certificates, passwords, configuration. Any thread; blocks as long as the file
// system does.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>

#include "baton/result.h"

namespace baton {

inline constexpr std::size_t kMaxSmallFile = 1 << 20;  ///< bytes

/// Returns the content of a file, which may be empty. If the file is a pipe, waits for its writer,
/// without a limit. Reads at most `most` bytes and one more. kInvalidArgument: the file can't be
/// read (it may be missing, or a folder), or has more than `most` bytes; the message names the file
/// and says why. REQUIRES (not checked, also for ReadStream): `most` is a whole number of MiB,
/// because the message gives it in MiB.
Result<std::string> ReadSmallFile(const std::string& path, std::size_t most = kMaxSmallFile);
/// The same for an open stream, such as stdin: reads it to its end, and does not close it. `name`
/// is the stream's name in messages. A signal that ends a wait for the stream is an error, too.
Result<std::string> ReadStream(std::FILE* stream, const std::string& name, std::size_t most);

/// Judges an open file before it is read: OK, or why it is refused.
using SmallFileCheck = std::function<Status(const struct stat& found)>;
/// Like ReadSmallFile above with kMaxSmallFile as `most`, but asks `check` about the open file
/// before it reads. So nobody can exchange the file between the check and the read. Returns an
/// error of `check` unchanged. REQUIRES (not checked): `check` is not empty, and accepts only
/// regular files. The call does not wait for content, so it could not read a pipe.
Result<std::string> ReadSmallFile(const std::string& path, const SmallFileCheck& check);

/// Returns the content without the line ends (LF and CR) at its end. An example of its use is a
/// password from a file.
std::string WithoutLineEnds(std::string content);

}  // namespace baton
