// Reads small files: certificates, passwords, configuration. Any thread. Blocks as long as the file
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

/// Returns the content of a file, which may be empty. If the file is a pipe, waits for the pipe's
/// writer, without a limit. Reads at most `most` + 1 bytes. kInvalidArgument: the file can't be
/// read (for example, it is missing or is a folder), or it has more than `most` bytes. The message
/// names the file and says why. REQUIRES (not checked, also for ReadStream): `most` is a whole
/// number of MiB, because the message gives it in MiB.
Result<std::string> ReadSmallFile(const std::string& path, std::size_t most = kMaxSmallFile);
/// Like ReadSmallFile, for an open stream such as stdin. Does not close the stream. `name`: the
/// stream's name in messages. Also returns an error if a signal interrupts the wait.
Result<std::string> ReadStream(std::FILE* stream, const std::string& name, std::size_t most);

/// Judges an open file before it is read. Returns OK, or why the file is refused.
using SmallFileCheck = std::function<Status(const struct stat& found)>;
/// Like ReadSmallFile above with kMaxSmallFile as `most`, but calls `check` for the open file
/// before the read. So nobody can exchange the file between the check and the read. Returns an
/// error of `check` unchanged. REQUIRES (not checked): `check` is not empty, and accepts only
/// regular files. (This call does not wait for content, so it can't read pipes.)
Result<std::string> ReadSmallFile(const std::string& path, const SmallFileCheck& check);

/// Returns `content` without the LF and CR bytes at its end, for example for a password.
std::string WithoutLineEnds(std::string content);

}  // namespace baton
