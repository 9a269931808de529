// Reads the file of a verb's -f FILE, or stdin. Blocking; one thread.
#pragma once

#include <cstddef>
#include <string>

#include "baton/result.h"

namespace baton::app {

/// Returns the content of the file, or of stdin if `path` is "-". Waits for the file system. Waits
/// for the end of stdin or of a pipe, without a limit. kInvalidArgument, with a message of one
/// line: the file or stdin can't be read, or has more than `most` bytes; or Interrupt has happened
/// once stdin was read. REQUIRES (not checked): `most` is a whole number of MiB.
Result<std::string> ReadInputFile(const std::string& path, std::size_t most);

}  // namespace baton::app
