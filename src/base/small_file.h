// Reads small files: certificates, passwords, configuration. Any thread; blocks as long as the file
// system does.
#pragma once

#include <string>

#include "baton/result.h"

namespace baton {

/// Returns the content of a file of at most 1 MiB. kInvalidArgument: it can't be read or is larger;
/// the message names the file and says why.
Result<std::string> ReadSmallFile(const std::string& path);

/// A file's content without the line ends after it: a password, for example.
std::string WithoutLineEnds(std::string content);

}  // namespace baton
