// The YAML file of --config: one mapping of flag names (without the dashes) to values.
#pragma once

#include <map>
#include <set>
#include <string>

#include "baton/result.h"

namespace baton::app {

struct ConfigValue {
  /// As on the command line. Of a list: its items, joined by commas; so an item that has a comma
  /// counts as several.
  std::string text;
  int line = 0;  ///< of the key, from 1
};

/// Reads the file, which may be empty. The results are by key. kInvalidArgument, in these cases:
/// the file can't be read, is larger than 1 MiB, or is not one YAML document with one mapping; a
/// key is not in `known` or appears twice; a value is neither a scalar nor a non-empty list of
/// scalars (null is not allowed). The message is about the first error. It names the file, and the
/// line if the file could be read. Blocks as long as the file system does; any thread.
Result<std::map<std::string, ConfigValue>> ReadConfigFile(const std::string& path,
                                                          const std::set<std::string>& known);

}  // namespace baton::app
