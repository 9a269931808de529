// The YAML file of --config: one mapping of flag names (without the dashes) to values.
#pragma once

#include <map>
#include <set>
#include <string>

#include "baton/result.h"

namespace baton::app {

struct ConfigValue {
  /// The value, as on the command line. The items of a list are joined by commas. So an item that
  /// has a comma counts as several items.
  std::string text;
  int line = 0;  ///< the line of the key, from 1
};

/// Reads the file. Returns its values by key; no values if the file is empty. kInvalidArgument, in
/// these cases:
///  - The file can't be read, is larger than 1 MiB, or is not one YAML document with one mapping.
///  - A key is not in `known`, or appears twice.
///  - A value is neither a scalar nor a list of scalars with at least one item. Null is no scalar.
/// The message is about the first error. It names the file, and the line if the file could be read.
/// Any thread. Waits for the file system, and for the writer if the file is a pipe.
Result<std::map<std::string, ConfigValue>> ReadConfigFile(const std::string& path,
                                                          const std::set<std::string>& known);

}  // namespace baton::app
