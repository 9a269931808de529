// The YAML file of --config: one mapping of flag names (without the dashes) to values.
#pragma once

#include <map>
#include <set>
#include <string>

#include "baton/result.h"

namespace baton::app {

struct ConfigValue {
  /// The value, as on the command line. The items of a list are joined by commas, so an item with a
  /// comma counts as several items.
  std::string text;
  int line = 0;  ///< the line of the key, from 1
};

/// Reads the file and returns its values by key. An empty file has no values. kInvalidArgument, in
/// these cases:
///  - The file can't be read, is larger than 1 MiB, or is not one YAML document with one mapping.
///  - A key is not in `known`, or appears twice.
///  - A value is not a scalar and not a list of one or more scalars. Null is not a scalar.
/// The message names the file and the first error. It also names the line if the file could be
/// read. Any thread. Waits for the file system. If the file is a pipe, also waits for its writer,
/// without a limit.
Result<std::map<std::string, ConfigValue>> ReadConfigFile(const std::string& path,
                                                          const std::set<std::string>& known);

}  // namespace baton::app
